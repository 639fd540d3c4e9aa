/**
 * `get --watch`: what is there now, then what is added, changed or removed, as a stream that lasts
 * until its reader has had enough. It hears of changes, so that a watch of what does not change
 * costs nothing.
 *
 * @module
 */

import type { GetInput, Listing, WatchLine } from "../api/resource_operations.ts";
import { AppError } from "../base/errors.ts";
import type { Events } from "../store/events.ts";
import { get, type QueryHost } from "./resources/queries.ts";
import { type Changed, Changes } from "./records/changes.ts";
import { RecordWatch } from "./records/record_watch.ts";
import type { RecordType } from "./records/record_type.ts";
import { findRecord, findRecordType, toListing } from "./records/records.ts";
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

/** What {@linkcode watch} needs. */
export interface WatchHost extends QueryHost {
  readonly events: Events;
}

/** Reads what has changed since the last call; the first call reads everything. */
type ReadChanges = (changed: Changed) => Promise<Omit<WatchLine, "deleted"> & Partial<WatchLine>>;

/** One watch: how it reads, and what it waits for. */
interface Watch {
  readonly read: ReadChanges;
  readonly changes: Changes;
  /** Whether more has changed than one read covers; never when absent. */
  readonly isBehind?: () => boolean;
}

/**
 * Yields what `get` gives, oldest record first, then what changes. No change after the first line
 * is missed.
 *
 * @throws {AppError} as `get`.
 */
export async function* watch(
  input: GetInput,
  host: WatchHost,
  signal: AbortSignal,
  timing = TIMING,
): AsyncGenerator<WatchLine> {
  const { clock } = host;
  const type = findRecordType(input.what);
  const { read, changes, isBehind = () => false } = type === undefined
    ? watchResources(input, host, timing)
    : watchRecords(type, input, { host, timing });
  using _listening = changes; // created before the first read, so that no change is missed
  yield { deleted: [], ...await read("any") };
  for (let writtenAt = clock.monotonicMs(); !signal.aborted;) {
    const quietMs = () => Math.max(0, timing.keepaliveMs - (clock.monotonicMs() - writtenAt));
    const changed = await changes.next(isBehind() ? 0 : quietMs(), signal);
    if (signal.aborted) return;
    const line = { deleted: [], ...await read(changed) };
    if (line.names.length === 0 && line.deleted.length === 0 && quietMs() > 0) continue;
    writtenAt = clock.monotonicMs();
    yield line;
  }
}

function watchRecords(
  type: RecordType<unknown>,
  input: GetInput,
  { host, timing }: { readonly host: WatchHost; readonly timing: WatchTiming },
): Watch {
  const { store, clock, events } = host;
  const { spacingMs } = timing;
  const record = type.name;
  const changes = Changes.ofRecords({ events, record, spacingMs, clock });
  const show = (rows: readonly unknown[]) =>
    toListing(type, rows, { now: clock.now(), project: input.project });
  if (input.name !== undefined) {
    return { read: watchOne(type, input.name, { host, show }), changes };
  }
  let records: RecordWatch | undefined;
  const read: ReadChanges = async (changed) => {
    if (records === undefined) {
      records = new RecordWatch(type, input, { store, now: clock.now() });
      return show(await records.start());
    }
    return show(await records.read(changed));
  };
  return { read, changes, isBehind: () => records?.isBehind === true };
}

/** Watches one record, which is read again only when it may have changed. */
function watchOne(
  type: RecordType<unknown>,
  name: string,
  { host, show }: { readonly host: WatchHost; readonly show: (rows: unknown[]) => Listing },
): ReadChanges {
  let id: string | undefined;
  const changes = onlyChanges(async () => {
    id ??= await resolveId(type, name, host);
    const row = await findRecord(type, id, host.store);
    return show([row]);
  });
  return async (changed) => {
    if (typeof changed !== "string" && id !== undefined && !changed.has(id)) return NO_CHANGES;
    return await changes();
  };
}

/**
 * Watches resources: they are in memory, so the list is compared after every change of a resource.
 */
function watchResources(input: GetInput, host: WatchHost, { spacingMs }: WatchTiming): Watch {
  const changes = new Changes({ spacingMs, clock: host.clock });
  changes.subscribe(host.events.on("resourcesChanged", () => changes.addAny()));
  const list = onlyChanges(() => get(input, host));
  return { read: (changed) => changed === "quiet" ? Promise.resolve(NO_CHANGES) : list(), changes };
}

const NO_CHANGES: Listing = { items: [], names: [], columns: [], rows: [] };

/** Yields of each listing what differs from the one before, and what was deleted. */
function onlyChanges(list: () => Promise<Listing>): () => ReturnType<ReadChanges> {
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
    const digests = items.map((item) => JSON.stringify(item));
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
