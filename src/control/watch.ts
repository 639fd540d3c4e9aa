/**
 * `get --watch`: yields a list as it is now, then what is added, changed or removed, until the
 * reader ends the stream. A stream reads only what was announced as changed, so that watching costs
 * nothing while nothing changes.
 *
 * @module
 */

import type { GetInput, Listing, WatchLine } from "../api/resource_operations.ts";
import { sha256Hex } from "../base/bytes.ts";
import { AppError } from "../base/errors.ts";
import { isNumbered, type RecordName } from "../resources/record_names.ts";
import type { Events } from "../store/events.ts";
import { get, type QueryHost } from "./resources/queries.ts";
import { type Changed, Changes, type ChangeSource } from "./records/changes.ts";
import { type Follower, RecordFeed } from "./records/record_feed.ts";
import { RecordWatch } from "./records/record_watch.ts";
import type { RecordType } from "./records/record_type.ts";
import { findRecordType, listRecords, toListing, withWholeIds } from "./records/records.ts";
import { resolveId } from "./records/resolve.ts";

/** How a watch waits, in milliseconds. */
interface WatchTiming {
  /** Shortest time between two reads, however much changes. */
  readonly spacingMs: number;
  /**
   * After this long without a line, the watch reads again and sends an empty line as a keepalive.
   */
  readonly keepaliveMs: number;
}

const TIMING: WatchTiming = { spacingMs: 500, keepaliveMs: 15_000 };

/** The daemon whose resources and records are watched. */
export type WatchHost = QueryHost & { readonly events: Events };

/** The news of a list since the line before. */
export interface ListLine extends WatchLine {
  /** Whether this is the whole list, which replaces what earlier lines said. */
  readonly whole: boolean;
  /** With this, another watch goes on from here; absent when none can. */
  readonly cursor?: string;
}

/** One watched list: the changes for which it waits, and the function that reads it. */
interface Subscription {
  readonly changes: ChangeSource;
  /** Reads what has changed since the last call; everything for the first one. */
  readonly read: (changed: Changed) => Promise<Listing & Partial<ListLine>>;
  /**
   * Whether it continues after a cursor, so that the first call reads only what has changed since.
   */
  readonly resumes?: boolean;
  /** Whether more has changed than one read covers; never when absent. */
  readonly isBehind?: () => boolean;
}

/** The watches of one daemon, which share their reads. */
export class Watches {
  readonly #host: WatchHost;
  readonly #timing: WatchTiming;
  readonly #feeds = new Map<RecordName, RecordFeed>();
  /** Different in each daemon and each of its runs. */
  readonly #run = crypto.randomUUID();

  /** Reads nothing before the first watch. */
  constructor(host: WatchHost, timing: WatchTiming = TIMING) {
    this.#host = host;
    this.#timing = timing;
  }

  /**
   * Yields what `get` gives, oldest record first, then what changes. No change after the first line
   * is missed. A line with empty lists is a keepalive.
   *
   * @throws {AppError} as `get`.
   */
  async *lines(input: GetInput, signal: AbortSignal): AsyncGenerator<WatchLine> {
    for await (const { whole: _whole, cursor: _cursor, ...line } of this.list(input, signal)) {
      yield line;
    }
  }

  /**
   * The same; with the cursor of an earlier line, goes on from there if it can: the first line is
   * then what has changed since, and not `whole`.
   *
   * @throws {AppError} as `get`.
   */
  async *list(input: GetInput, signal: AbortSignal, after?: string): AsyncGenerator<ListLine> {
    const { clock } = this.#host;
    const { keepaliveMs } = this.#timing;
    const { changes, read, resumes = false, isBehind = () => false } = this.#open(input, after);
    using _following = changes; // opened before the first read, so that no change is missed
    const missed = resumes ? await changes.next(0, signal) : "any";
    yield { deleted: [], whole: !resumes, ...await read(missed) };
    for (let writtenAt = clock.monotonicMs(); !signal.aborted;) {
      const quietMs = () => Math.max(0, keepaliveMs - (clock.monotonicMs() - writtenAt));
      const changed = await changes.next(isBehind() ? 0 : quietMs(), signal);
      if (signal.aborted) return;
      const line = { deleted: [], whole: false, ...await read(changed) };
      const isNews = line.whole || line.names.length + line.deleted.length > 0;
      if (!isNews && quietMs() > 0) continue;
      writtenAt = clock.monotonicMs();
      yield line;
    }
  }

  #open(input: GetInput, after: string | undefined): Subscription {
    const host = this.#host;
    const type = findRecordType(input.what);
    if (type === undefined) return watchResources(input, host, this.#timing);
    const feed = this.#feedOf(type);
    if (!isNumbered(type.name)) {
      const read = onlyChanges(() => listRecords(type, input, host), type.passing);
      return { read, changes: feed.follow() };
    }
    if (input.name !== undefined) {
      return { read: watchOne(type, input.name, { input, host, feed }), changes: feed.follow() };
    }
    const tag = sha256Hex(`${this.#run} ${JSON.stringify(input)}`).slice(0, 16);
    return watchRecords(type, { input, tag, after }, { host, feed });
  }

  /**
   * The feed of a type, which is kept: a stream that comes back learns from it what it has missed.
   */
  #feedOf(type: RecordType<unknown>): RecordFeed {
    const known = this.#feeds.get(type.name);
    if (known !== undefined) return known;
    const feed = new RecordFeed(type, this.#host, this.#timing.spacingMs);
    this.#feeds.set(type.name, feed);
    return feed;
  }
}

/** A host and the feed of the type of record that is watched. */
interface RecordSource {
  readonly host: WatchHost;
  readonly feed: RecordFeed;
}

/** Watches a list of records. Its cursors are `TAG.BATCH`: the list, and the last batch of changes. */
function watchRecords(
  type: RecordType<unknown>,
  { input, tag, after }: {
    readonly input: GetInput;
    /** Different for each list, and in each run of the daemon. */
    readonly tag: string;
    readonly after: string | undefined;
  },
  { host, feed }: RecordSource,
): Subscription {
  const changes = feed.follow();
  const resumes = goBackTo(after, tag, changes);
  let records: RecordWatch | undefined;
  /**
   * Whether the watch has read no whole list, and so reads only the records that are announced by
   * id.
   */
  let knowsNothing = resumes;
  /** Whether every change since the whole list was announced with the id of its record. */
  let isExact = true;
  const newWatch = async () => {
    const whole = await withWholeIds(input, host);
    const { reads } = feed;
    return new RecordWatch(type, whole, { reads, now: host.clock.now(), resumes: knowsNothing });
  };
  const read = async (changed: Changed) => {
    if (changed === "any" && (records === undefined || knowsNothing)) {
      knowsNothing = false;
      records = await newWatch();
      return { ...show(type, await records.start(), { input, host }), whole: true };
    }
    if (changed === "quiet" && knowsNothing) return NO_CHANGES;
    records ??= await newWatch();
    if (changed === "any") isExact = false;
    return show(type, await records.read(changed), { input, host });
  };
  return {
    changes,
    resumes,
    read: async (changed) => {
      const line = await read(changed);
      return isExact ? { ...line, cursor: `${tag}.${changes.heard}` } : line;
    },
    isBehind: () => records?.isBehind === true,
  };
}

/**
 * Continues after a cursor; returns `false` for the cursor of another list or daemon, and when the
 * changes since are not known.
 */
function goBackTo(cursor: string | undefined, tag: string, changes: Follower): boolean {
  const match = /^(\w+)\.(\d{1,15})$/.exec(cursor ?? "");
  return match !== null && match[1] === tag && changes.goBackTo(Number(match[2]));
}

/** Watches one record, which is read again only when it may have changed. */
function watchOne(
  type: RecordType<unknown>,
  name: string,
  { input, host, feed }: RecordSource & { readonly input: GetInput },
): Subscription["read"] {
  let id: string | undefined;
  let isPending = false; // a pending record shows why it waits, which changes with other records
  const changes = onlyChanges(async () => {
    id ??= await resolveId(type, name, host);
    const row = await feed.reads.find(id);
    const { pending } = type.open ?? {};
    isPending = pending !== undefined && type.view(row)["state"] === pending;
    return show(type, [row], { input, host });
  }, type.passing);
  return async (changed) => {
    const isOther = typeof changed !== "string" && id !== undefined && !changed.has(id);
    if (isOther && !isPending) return NO_CHANGES;
    return await changes();
  };
}

function show(
  type: RecordType<unknown>,
  rows: readonly unknown[],
  { input, host }: { readonly input: GetInput; readonly host: WatchHost },
): Listing {
  return toListing(type, rows, { now: host.clock.now(), project: input.project });
}

/**
 * Watches resources: they are in memory, so the list is compared after every change of a resource.
 */
function watchResources(
  input: GetInput,
  host: WatchHost,
  { spacingMs }: WatchTiming,
): Subscription {
  const changes = new Changes({ spacingMs, clock: host.clock });
  changes.subscribe(host.events.on("resourcesChanged", () => changes.add(undefined)));
  const list = onlyChanges(() => get(input, host));
  return { read: (changed) => changed === "quiet" ? Promise.resolve(NO_CHANGES) : list(), changes };
}

const NO_CHANGES: Listing = { items: [], names: [], columns: [], rows: [] };

/**
 * Returns a function that takes a listing and returns what differs from the one before, and what
 * was deleted. A difference in `passing` fields alone is no change.
 */
function onlyChanges(
  list: () => Promise<Listing>,
  passing: readonly string[] = [],
): () => Promise<Listing & { readonly deleted?: readonly string[] }> {
  let known: Map<string, { readonly name: string; readonly digest: string }> | undefined;
  return async () => {
    const { items, names, columns, rows } = await list().catch((error) => {
      // A resource that is watched by its name may be deleted, and created again.
      if (known !== undefined && error instanceof AppError && error.code === "not_found") {
        return NO_CHANGES;
      }
      throw error;
    });
    const before = known ?? new Map<string, { name: string; digest: string }>();
    const digests = items.map((item) =>
      JSON.stringify(item, (field, value) => passing.includes(field) ? undefined : value)
    );
    const keys = items.map((item, at) => keyOf(item, names[at] ?? ""));
    const changed = keys.flatMap((key, at) => before.get(key)?.digest === digests[at] ? [] : [at]);
    const there = new Set(keys);
    const deleted = [...before].filter(([key]) => !there.has(key)).map(([, { name }]) => name);
    known = new Map(
      keys.map((key, at) => [key, { name: names[at] ?? "", digest: digests[at] ?? "" }]),
    );
    const pick = <T>(all: readonly T[]) => changed.flatMap((at) => all.slice(at, at + 1));
    return { columns, deleted, items: pick(items), names: pick(names), rows: pick(rows) };
  };
}

/** Key of an item: the same name may exist in several projects. */
function keyOf(item: Readonly<Record<string, unknown>>, name: string): string {
  const { project = "" } = (item["metadata"] ?? {}) as { project?: string };
  return `${project}\n${name}`;
}
