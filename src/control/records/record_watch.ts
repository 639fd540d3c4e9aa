/**
 * Watches one type of record: what appears, and what changes of those that still can. Each look
 * reads what has changed, or where that is not known a bounded number of rows, so that ten thousand
 * open records hold up nobody.
 *
 * @module
 */

import type { GetInput } from "../../api/resource_operations.ts";
import { sha256Hex } from "../../base/bytes.ts";
import type { Changed } from "./changes.ts";
import type { RecordQuery, RecordStore, RecordType } from "./record_type.ts";
import { checkFilters, toQuery } from "./records.ts";

/** Rows read at once. */
const PAGE = 200;
/**
 * Open rows outside the newest that are read again in one look; the others have their turn later.
 */
const READ_AGAIN = 200;

/** One watch over a list of records. */
export class RecordWatch {
  readonly #sort: RecordType<unknown>;
  readonly #store: RecordStore;
  /** What is asked for, in whatever state: one that changes its state has to be seen. */
  readonly #query: RecordQuery;
  readonly #state: string | undefined;
  /** What each known record looked like. */
  readonly #known = new Map<string, string>();
  /** Those that may change, whose turn to be read again is longest ago first. */
  readonly #open = new Set<string>();
  /** Those that were shown in the state that is asked for. */
  readonly #shown = new Set<string>();
  /** How many of the open ones have not been read since anything may have changed. */
  #unread = 0;
  #newest = "";
  /** Below it, records are known or of no interest: they were there before. */
  #floor = "";

  /**
   * A watch of what `input` lists.
   *
   * @throws {AppError} `usage` when this sort cannot be asked so.
   */
  constructor(
    sort: RecordType<unknown>,
    input: GetInput,
    host: { readonly store: RecordStore; readonly now: number },
  ) {
    checkFilters(sort, input);
    const { state, ...query } = toQuery(input, host.now);
    this.#sort = sort;
    this.#store = host.store;
    this.#query = query;
    this.#state = state;
  }

  /** The newest records there are, oldest first; from here on they are known. */
  async start(): Promise<unknown[]> {
    const state = this.#state === undefined ? {} : { state: this.#state };
    for (const state of this.#sort.open?.states ?? []) {
      for await (const page of this.#pages({ state })) for (const row of page) this.#note(row);
    }
    await this.look("quiet");
    const shown = await this.#list(state); // last: what came meanwhile is in it, or new to the next look
    for (const row of shown) {
      this.#note(row);
      this.#shown.add(this.#sort.id(row));
    }
    return shown.reverse();
  }

  /** Whether there are more rows that may have changed than were read: another look is needed. */
  get isBehind(): boolean {
    return this.#unread > 0;
  }

  /** What appeared or changed since the last look, oldest first. */
  async look(changed: Changed = "any"): Promise<unknown[]> {
    const rows = typeof changed === "string"
      ? [...await this.#readNewest(), ...await this.#readOpen(changed)]
      : await this.#read([...changed].filter((id) => this.#known.has(id)));
    const news = rows.filter((row) => this.#note(row)).filter((row) => this.#isWanted(row));
    return news.toSorted((a, b) => this.#sort.id(a) < this.#sort.id(b) ? -1 : 1);
  }

  /** All that came since the last look; the first page also shows changes of what is known. */
  async #readNewest(): Promise<unknown[]> {
    const { id } = this.#sort;
    const found: unknown[] = [];
    const before = this.#newest;
    let floor: string | undefined;
    for await (const page of this.#pages({})) {
      found.push(...page);
      const [first, last] = [page[0], page.at(-1)];
      if (first !== undefined && id(first) > this.#newest) this.#newest = id(first);
      if (page.length === PAGE && last !== undefined) floor ??= id(last);
      if (last === undefined || id(last) <= before || before === "") break;
    }
    const fresh = found.filter((row) => id(row) >= this.#floor || this.#known.has(id(row)));
    if (floor !== undefined && floor > this.#floor) this.#raise(floor);
    return fresh;
  }

  async #readOpen(changed: "any" | "quiet"): Promise<unknown[]> {
    const open = [...this.#open].filter((id) => id < this.#floor);
    const unread = changed === "any" ? open.length : Math.min(this.#unread, open.length);
    this.#unread = Math.max(0, unread - READ_AGAIN);
    return await this.#read(open.slice(0, READ_AGAIN));
  }

  async #read(ids: readonly string[]): Promise<unknown[]> {
    const rows = await Promise.all(ids.map((id) => this.#sort.find(this.#store, id)));
    for (const [index, id] of ids.entries()) {
      this.#open.delete(id); // and added again behind the others, if it still is open
      if (rows[index]?.length === 0) this.#known.delete(id);
    }
    return rows.flatMap((found) => found.slice(0, 1));
  }

  #raise(floor: string): void {
    this.#floor = floor;
    for (const id of this.#known.keys()) {
      if (id < floor && !this.#open.has(id)) this.#known.delete(id);
    }
  }

  /** Remembers what a record looks like; whether that is new. */
  #note(row: unknown): boolean {
    const id = this.#sort.id(row);
    const look = sha256Hex(JSON.stringify(this.#sort.view(row)));
    const isOpen = this.#sort.open?.isOpen(row) === true;
    const isNew = this.#known.get(id) !== look;
    if (isOpen) this.#open.add(id);
    else this.#open.delete(id);
    if (isOpen || id >= this.#floor) this.#known.set(id, look);
    else this.#known.delete(id);
    return isNew;
  }

  /** Of one state: what enters it, what changes in it, and that something has left it. */
  #isWanted(row: unknown): boolean {
    if (this.#state === undefined) return true;
    const id = this.#sort.id(row);
    const isIn = this.#sort.view(row)["state"] === this.#state;
    const wasIn = this.#shown.delete(id);
    if (isIn) this.#shown.add(id);
    return isIn || wasIn;
  }

  #list(more: Partial<RecordQuery>): Promise<unknown[]> {
    return this.#sort.list(this.#store, { ...this.#query, ...more });
  }

  async *#pages(more: Partial<RecordQuery>): AsyncGenerator<unknown[]> {
    const canReadOn = this.#sort.filters?.includes("before") === true;
    let before: string | undefined;
    for (;;) {
      const on = before === undefined ? {} : { before };
      const page = await this.#list({ ...more, ...on, limit: PAGE });
      yield page;
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE || !canReadOn) return;
      before = this.#sort.id(last);
    }
  }
}
