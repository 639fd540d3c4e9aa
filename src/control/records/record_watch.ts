/**
 * Watches one type of record for new records and for changes of open ones. A read covers the
 * records that were announced as changed, or else a bounded number of rows, so that even ten
 * thousand open records delay nothing.
 *
 * @module
 */

import type { GetInput } from "../../api/resource_operations.ts";
import { sha256Hex } from "../../base/bytes.ts";
import { defined } from "../../base/defined.ts";
import type { Changed } from "./changes.ts";
import type { RecordReads } from "./record_feed.ts";
import { toQuery } from "./record_query.ts";
import type { RecordQuery, RecordType } from "./record_type.ts";
import { checkFilters } from "./records.ts";

/** Rows read in one call. */
const PAGE_SIZE = 200;
/** Open rows older than the first page that one read covers; the others follow in later reads. */
const REREAD_SIZE = 200;
/**
 * Most records in the pending state that are read again when another record has changed; the newest
 * are taken.
 */
const PENDING_SIZE = 50;
/**
 * Most records that are remembered beside the open ones. With more, all but the newest page are
 * forgotten.
 */
const MAX_KNOWN = 1000;

/** One watch over a list of records. */
export class RecordWatch {
  readonly #type: RecordType<unknown>;
  readonly #reads: Pick<RecordReads, "newest" | "list">;
  /** The query without its state: a record that leaves the state has to be seen. */
  readonly #query: RecordQuery;
  readonly #state: string | undefined;
  readonly #resumes: boolean;
  /** Digest of each known record as it was last shown. */
  readonly #known = new Map<string, string>();
  /** Ids of records that may change, least recently read first. */
  readonly #open = new Set<string>();
  /** Ids of the open records whose view depends on other records. */
  readonly #pending = new Set<string>();
  /** Ids that were shown in the state of the query. */
  readonly #shown = new Set<string>();
  /** Number of open records not read since an unspecified change. */
  #unread = 0;
  #newest = "";
  /** Lowest id that can be new: a record with a lower one is known, or older than the watch. */
  #floor = "";

  /**
   * A watch of the records that `input` lists.
   *
   * @throws {AppError} `usage` for a filter that this type does not support.
   */
  constructor(
    type: RecordType<unknown>,
    input: GetInput,
    { reads, now, resumes = false }: {
      readonly reads: Pick<RecordReads, "newest" | "list">;
      readonly now: number;
      /**
       * Whether the watch continues an earlier one: then it is not started, and reads only what is
       * announced.
       */
      readonly resumes?: boolean;
    },
  ) {
    checkFilters(type, input);
    const { state, ...query } = toQuery(input, now);
    this.#type = type;
    this.#reads = reads;
    this.#query = query;
    this.#state = state;
    this.#resumes = resumes;
  }

  /** Returns the newest records, oldest first; later reads report changes of these. */
  async start(): Promise<unknown[]> {
    for (const state of this.#type.open?.states ?? []) {
      for await (const page of this.#pages({ state })) for (const row of page) this.#note(row);
    }
    await this.read("quiet");
    // This is read last: a record that is stored meanwhile is in this list, or new to the next read.
    const query = { ...this.#query, ...defined({ state: this.#state }) };
    const { rows: shown } = await this.#reads.list(query);
    for (const row of shown) {
      this.#note(row);
      this.#shown.add(this.#type.id(row));
    }
    return shown.toReversed();
  }

  /** Whether more rows may have changed than were read, so that another read is needed. */
  get isBehind(): boolean {
    return this.#unread > 0;
  }

  /** Returns what appeared or changed since the last read, oldest first. */
  async read(changed: Changed = "any"): Promise<unknown[]> {
    const rows = typeof changed === "string"
      ? [...await this.#readNewest(), ...await this.#readOpen(changed)]
      : [...await this.#read([...changed]), ...await this.#readPending(changed)];
    // After a break, a record that is read for the first time may have left the state meanwhile.
    const unknown = this.#resumes ? rows.filter((row) => !this.#known.has(this.#type.id(row))) : [];
    const news = rows.filter((row) => this.#note(row))
      .filter((row) => this.#concernsState(row) || unknown.includes(row));
    this.#forget();
    return news.toSorted((a, b) => this.#type.id(a) < this.#type.id(b) ? -1 : 1);
  }

  /** Reads all records since the last read; the first page also shows changes of known ones. */
  async #readNewest(): Promise<unknown[]> {
    const { id } = this.#type;
    const found: unknown[] = [];
    const before = this.#newest;
    let floor: string | undefined;
    for await (const page of this.#pages({})) {
      found.push(...page);
      const [first, last] = [page[0], page.at(-1)];
      if (first !== undefined && id(first) > this.#newest) this.#newest = id(first);
      if (page.length === PAGE_SIZE && last !== undefined) floor ??= id(last);
      if (last === undefined || id(last) <= before || before === "") break;
    }
    const fresh = found.filter((row) => id(row) >= this.#floor || this.#known.has(id(row)));
    if (floor !== undefined && floor > this.#floor) this.#raise(floor);
    return fresh;
  }

  /** Reads again the records whose view may have changed because others have. */
  async #readPending(changed: ReadonlySet<string>): Promise<readonly unknown[]> {
    const state = this.#type.open?.pending;
    if (state === undefined || this.#pending.size === 0) return [];
    const rows = await this.#list({ state, limit: PENDING_SIZE });
    const { id } = this.#type;
    return rows.filter((row) => this.#known.has(id(row)) && !changed.has(id(row)));
  }

  async #readOpen(changed: "any" | "quiet"): Promise<readonly unknown[]> {
    const open = [...this.#open].filter((id) => id < this.#floor);
    const unread = changed === "any" ? open.length : Math.min(this.#unread, open.length);
    this.#unread = Math.max(0, unread - REREAD_SIZE);
    return await this.#read(open.slice(0, REREAD_SIZE));
  }

  async #read(ids: readonly string[]): Promise<readonly unknown[]> {
    if (ids.length === 0) return [];
    const rows = await this.#list({ ids, limit: ids.length });
    const found = new Set(rows.map(this.#type.id));
    for (const id of ids) {
      this.#open.delete(id); // added again behind the others if it is still open
      if (found.has(id)) continue;
      this.#known.delete(id);
      this.#pending.delete(id);
    }
    return rows;
  }

  #forget(): void {
    if (this.#known.size - this.#open.size <= MAX_KNOWN) return;
    const floor = [...this.#known.keys()].toSorted().at(-PAGE_SIZE);
    if (floor !== undefined && floor > this.#floor) this.#raise(floor);
  }

  #raise(floor: string): void {
    this.#floor = floor;
    for (const id of this.#known.keys()) {
      if (id < floor && !this.#open.has(id)) this.#known.delete(id);
    }
  }

  /** Remembers the record; returns whether it differs from what was known. */
  #note(row: unknown): boolean {
    const id = this.#type.id(row);
    const view = this.#type.view(row);
    const { passing = [] } = this.#type;
    const digest = sha256Hex(
      JSON.stringify(view, (field, value) => passing.includes(field) ? undefined : value),
    );
    const isOpen = this.#type.open?.isOpen(row) === true;
    if (isOpen && view["state"] === this.#type.open?.pending) this.#pending.add(id);
    else this.#pending.delete(id);
    const isNew = this.#known.get(id) !== digest;
    if (isOpen) this.#open.add(id);
    else this.#open.delete(id);
    if (isOpen || id >= this.#floor) this.#known.set(id, digest);
    else this.#known.delete(id);
    return isNew;
  }

  /**
   * Whether a change concerns the state of the query: a record enters it, changes in it, or leaves
   * it.
   */
  #concernsState(row: unknown): boolean {
    if (this.#state === undefined) return true;
    const id = this.#type.id(row);
    const isIn = this.#type.view(row)["state"] === this.#state;
    const wasIn = this.#shown.delete(id);
    if (isIn) this.#shown.add(id);
    return isIn || wasIn;
  }

  #list(more: Partial<RecordQuery>): Promise<readonly unknown[]> {
    return this.#reads.newest({ ...this.#query, ...more });
  }

  async *#pages(more: Partial<RecordQuery>): AsyncGenerator<readonly unknown[]> {
    const canReadOn = this.#type.filters?.includes("before") === true;
    let before: string | undefined;
    for (;;) {
      const page = await this.#list({ ...more, ...defined({ before }), limit: PAGE_SIZE });
      yield page;
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE_SIZE || !canReadOn) return;
      before = this.#type.id(last);
    }
  }
}
