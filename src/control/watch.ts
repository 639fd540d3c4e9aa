/**
 * `get --watch`: what is there now, then whatever appears, changes or goes, as a stream that lasts
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
import type { RecordStore, RecordType } from "./records/record_type.ts";
import { findRecord, findRecordType, toListing } from "./records/records.ts";

/** How a watch waits, in milliseconds. */
interface WatchTiming {
  /** Shortest time between two looks, however much changes. */
  readonly spacingMs: number;
  /**
   * After this long without a line there is an empty one, as a sign of life, and a look in any
   * case.
   */
  readonly aliveMs: number;
}

const TIMING: WatchTiming = { spacingMs: 500, aliveMs: 15_000 };

/** What watching needs. */
export interface WatchHost extends QueryHost {
  /** Tell what has changed. */
  readonly events: Events;
}

/** Gives what is new of what has changed; when nothing was given before, everything. */
type Look = (changed: Changed) => Promise<Omit<WatchLine, "deleted"> & Partial<WatchLine>>;

/** How to look, and when. */
interface Watch {
  readonly look: Look;
  readonly changes: Changes;
  /** Whether there is more to look at than one look takes; never when absent. */
  readonly isBehind?: () => boolean;
}

/**
 * What `get` gives, oldest record first, then what changes. When the first line is there, whatever
 * changes from then on is seen.
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
  const { look, changes, isBehind = () => false } = type === undefined
    ? watchResources(input, host, timing)
    : watchRecords(type, input, { host, timing });
  using _listening = changes; // before the first look, so that no change falls between them
  yield { deleted: [], ...await look("any") };
  for (let toldAt = clock.monotonicMs(); !signal.aborted;) {
    const quietMs = () => Math.max(0, timing.aliveMs - (clock.monotonicMs() - toldAt));
    const changed = await changes.next(isBehind() ? 0 : quietMs(), signal);
    if (signal.aborted) return;
    const line = { deleted: [], ...await look(changed) };
    if (line.names.length === 0 && line.deleted.length === 0 && quietMs() > 0) continue;
    toldAt = clock.monotonicMs();
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
  const show = (rows: readonly unknown[]) => toListing(type, rows, clock.now());
  if (input.name !== undefined) {
    return { look: watchOne(type, input.name, { store, show }), changes };
  }
  let records: RecordWatch | undefined;
  const look: Look = async (changed) => {
    if (records === undefined) {
      records = new RecordWatch(type, input, { store, now: clock.now() });
      return show(await records.start());
    }
    return show(await records.look(changed));
  };
  return { look, changes, isBehind: () => records?.isBehind === true };
}

/** One record, which is read again only when it may have changed. */
function watchOne(
  type: RecordType<unknown>,
  name: string,
  { store, show }: { readonly store: RecordStore; readonly show: (rows: unknown[]) => Listing },
): Look {
  let id: string | undefined;
  const changes = onlyChanges(async () => {
    const row = await findRecord(type, name, store);
    id = type.id(row);
    return show([row]);
  });
  return async (changed) => {
    if (typeof changed !== "string" && id !== undefined && !changed.has(id)) return NOTHING;
    return await changes();
  };
}

/** Resources are in memory: they are compared whenever one of them has changed. */
function watchResources(input: GetInput, host: WatchHost, { spacingMs }: WatchTiming): Watch {
  const changes = new Changes({ spacingMs, clock: host.clock });
  changes.hear(host.events.on("resourcesChanged", () => changes.addAny()));
  const list = onlyChanges(() => get(input, host));
  return { look: (changed) => changed === "quiet" ? Promise.resolve(NOTHING) : list(), changes };
}

const NOTHING: Listing = { items: [], names: [], columns: [], rows: [] };

/** Of each listing, what differs from the one before, and what is no longer in it. */
function onlyChanges(list: () => Promise<Listing>): () => ReturnType<Look> {
  let known: Map<string, { name: string; look: string }> | undefined;
  return async () => {
    const { items, names, columns, rows } = await list().catch((error) => {
      // The one thing that is watched may go, and come again.
      if (known !== undefined && error instanceof AppError && error.code === "not_found") {
        return NOTHING;
      }
      throw error;
    });
    const before = known ?? new Map<string, { name: string; look: string }>();
    const looks = items.map((item) => JSON.stringify(item));
    const keys = items.map((item, at) => keyOf(item, names[at] ?? ""));
    const changed = keys.flatMap((key, at) => before.get(key)?.look === looks[at] ? [] : [at]);
    const there = new Set(keys);
    const deleted = [...before].filter(([key]) => !there.has(key)).map(([, { name }]) => name);
    known = new Map(keys.map((key, at) => [key, { name: names[at] ?? "", look: looks[at] ?? "" }]));
    const pick = <T>(all: readonly T[]) => changed.flatMap((at) => all.slice(at, at + 1));
    return { columns, deleted, items: pick(items), names: pick(names), rows: pick(rows) };
  };
}

/** The same name may be there in several projects. */
function keyOf(item: Readonly<Record<string, unknown>>, name: string): string {
  const { project = "" } = (item["metadata"] ?? {}) as { project?: string };
  return `${project}\n${name}`;
}
