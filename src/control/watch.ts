/**
 * `get --watch`: what is there now, then what is added, changed or removed, as a stream that lasts
 * until its reader has had enough. It hears of changes, so that a watch of what does not change
 * costs nothing.
 *
 * @module
 */

import type { GetInput, Listing, WatchLine } from "../api/resource_operations.ts";
import { sha256Hex } from "../base/bytes.ts";
import { AppError } from "../base/errors.ts";
import { isNumbered } from "../resources/record_names.ts";
import type { Events } from "../store/events.ts";
import { get, type QueryHost } from "./resources/queries.ts";
import { type Changed, Changes } from "./records/changes.ts";
import { RecordWatch } from "./records/record_watch.ts";
import { SharedLooks } from "./records/shared_looks.ts";
import type { RecordType } from "./records/record_type.ts";
import {
  findRecord,
  findRecordType,
  listRecords,
  toListing,
  withWholeIds,
} from "./records/records.ts";
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

/** What {@linkcode Watches} needs. */
export interface WatchHost extends QueryHost {
  readonly events: Events;
}

/** What watches of one daemon share. */
interface Shared {
  readonly host: WatchHost;
  readonly looks: SharedLooks;
  readonly timing: WatchTiming;
}

/** What is new of a list. */
export interface ListLine extends WatchLine {
  /** Whether this is all of it, whatever was told before. */
  readonly whole: boolean;
  /** With which another watch goes on from here; absent when it could not. */
  readonly cursor?: string;
}

/** What one read has found. */
type Found = Listing & Partial<ListLine>;
/** Reads what has changed since the last call; the first call reads everything. */
type ReadChanges = (changed: Changed) => Promise<Found>;

/** One watch: how it reads, and what it waits for. */
interface Watch {
  readonly read: ReadChanges;
  readonly changes: Changes;
  /** Whether it goes on where another has ended; not when absent. */
  readonly goesOn?: boolean;
  /** Whether more has changed than one read covers; never when absent. */
  readonly isBehind?: () => boolean;
}

/** The watches of one daemon, which share their looks at the store. */
export class Watches {
  readonly #shared: Shared;

  /** Looks at nothing before somebody watches. */
  constructor(host: WatchHost, timing: WatchTiming = TIMING) {
    this.#shared = { host, timing, looks: new SharedLooks(host, timing.spacingMs) };
  }

  /**
   * Yields what `get` gives, oldest record first, then what changes. No change after the first line
   * is missed. A line with empty lists is a keepalive.
   *
   * @throws {AppError} as `get`.
   */
  async *lines(input: GetInput, signal: AbortSignal): AsyncGenerator<WatchLine> {
    for await (const { whole: _all, cursor: _place, ...line } of this.list(input, signal)) {
      yield line;
    }
  }

  /**
   * The same; with the cursor of an earlier line, goes on from there if it can: the first line then
   * is what has changed since, and `whole` says that it is not.
   *
   * @throws {AppError} as `get`.
   */
  list(input: GetInput, signal: AbortSignal, after?: string): AsyncGenerator<ListLine> {
    return watch({ input, after }, this.#shared, signal);
  }
}

/** A list, and where to go on. */
interface Wanted {
  readonly input: GetInput;
  /** Cursor of an earlier line. */
  readonly after: string | undefined;
}

async function* watch(
  wanted: Wanted,
  shared: Shared,
  signal: AbortSignal,
): AsyncGenerator<ListLine> {
  const { host: { clock }, timing } = shared;
  const type = findRecordType(wanted.input.what);
  const { read, changes, goesOn = false, isBehind = () => false } = type === undefined
    ? watchResources(wanted.input, shared)
    : watchRecords(type, wanted, shared);
  using _listening = changes; // created before the first read, so that no change is missed
  const missed = goesOn ? await changes.next(0, signal) : "any";
  yield { deleted: [], whole: !goesOn, ...await read(missed) };
  for (let writtenAt = clock.monotonicMs(); !signal.aborted;) {
    const quietMs = () => Math.max(0, timing.keepaliveMs - (clock.monotonicMs() - writtenAt));
    const changed = await changes.next(isBehind() ? 0 : quietMs(), signal);
    if (signal.aborted) return;
    const line = { deleted: [], whole: false, ...await read(changed) };
    const isNews = line.whole || line.names.length + line.deleted.length > 0;
    if (!isNews && quietMs() > 0) continue;
    writtenAt = clock.monotonicMs();
    yield line;
  }
}

function watchRecords(
  type: RecordType<unknown>,
  { input, after }: Wanted,
  { host, looks }: Shared,
): Watch {
  const { clock } = host;
  const { store } = looks;
  const changes = looks.changesOf(type.name);
  if (!isNumbered(type.name)) {
    const list = onlyChanges(() => listRecords(type, input, host), type.passing);
    return { read: list, changes };
  }
  const show = (rows: readonly unknown[]) =>
    toListing(type, rows, { now: clock.now(), project: input.project });
  if (input.name !== undefined) {
    return { read: watchOne(type, input.name, { host, store, show }), changes };
  }
  const cursors = new Cursors(looks, input);
  const place = cursors.placeOf(after);
  const missed = place === undefined ? undefined : looks.changedAfter(type.name, place);
  if (missed !== undefined) changes.addAll(missed, changes.place);
  let records: RecordWatch | undefined;
  /** Whether only what is announced record by record is read, because no more is known. */
  let goesOn = missed !== undefined;
  /** Whether it is known of each change since the whole list which record it was. */
  let isExact = true;
  const newWatch = async () => {
    const whole = await withWholeIds(input, host);
    return new RecordWatch(type, whole, { store, now: clock.now(), goesOn });
  };
  const withCursor = (found: Found) =>
    isExact ? { ...found, cursor: cursors.at(changes.place) } : found;
  const read: ReadChanges = async (changed) => {
    if (changed === "any" && (records === undefined || goesOn)) {
      goesOn = false;
      records = await newWatch();
      return withCursor({ ...show(await records.start()), whole: true });
    }
    if (changed === "quiet" && goesOn) return withCursor(NO_CHANGES);
    records ??= await newWatch();
    if (changed === "any") isExact = false;
    return withCursor(show(await records.read(changed)));
  };
  return { read, changes, goesOn, isBehind: () => records?.isBehind === true };
}

/** Makes and reads the cursors of one list of one daemon. */
class Cursors {
  readonly #tag: string;

  /** Those of a list, in the changes that are told there. */
  constructor({ id }: SharedLooks, input: GetInput) {
    this.#tag = sha256Hex(`${id} ${JSON.stringify(input)}`).slice(0, 16);
  }

  /** The cursor of a place. */
  at(place: number): string {
    return `${this.#tag}.${place}`;
  }

  /** The place of a cursor; `undefined` of one that was made elsewhere, or for another list. */
  placeOf(cursor: string | undefined): number | undefined {
    const place = /^(\w+)\.(\d{1,15})$/.exec(cursor ?? "");
    return place?.[1] === this.#tag ? Number(place[2]) : undefined;
  }
}

/** Watches one record, which is read again only when it may have changed. */
function watchOne(
  type: RecordType<unknown>,
  name: string,
  { host, store, show }: {
    readonly host: WatchHost;
    readonly store: SharedLooks["store"];
    readonly show: (rows: unknown[]) => Listing;
  },
): ReadChanges {
  let id: string | undefined;
  let isPending = false; // what it shows may change with others
  const changes = onlyChanges(async () => {
    id ??= await resolveId(type, name, host);
    const row = await findRecord(type, id, store);
    const { pending } = type.open ?? {};
    isPending = pending !== undefined && type.view(row)["state"] === pending;
    return show([row]);
  }, type.passing);
  return async (changed) => {
    const isOther = typeof changed !== "string" && id !== undefined && !changed.has(id);
    if (isOther && !isPending) return NO_CHANGES;
    return await changes();
  };
}

/**
 * Watches resources: they are in memory, so the list is compared after every change of a resource.
 */
function watchResources(input: GetInput, { host, timing: { spacingMs } }: Shared): Watch {
  const changes = new Changes({ spacingMs, clock: host.clock });
  changes.subscribe(host.events.on("resourcesChanged", () => changes.addAny()));
  const list = onlyChanges(() => get(input, host));
  return { read: (changed) => changed === "quiet" ? Promise.resolve(NO_CHANGES) : list(), changes };
}

const NO_CHANGES: Listing = { items: [], names: [], columns: [], rows: [] };

/**
 * Yields of each listing what differs from the one before, and what was deleted. What differs in
 * `passing` fields alone is no change.
 */
function onlyChanges(
  list: () => Promise<Listing>,
  passing: readonly string[] = [],
): () => ReturnType<ReadChanges> {
  let known: Map<string, { name: string; digest: string }> | undefined;
  return async () => {
    const { items, names, columns, rows } = await list().catch((error) => {
      // The one resource that is watched may be deleted, and created again.
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
