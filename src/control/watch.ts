/**
 * `get --watch` (contract 6): what is there now, then whatever appears, changes or goes, as a stream
 * that lasts until its reader has had enough.
 *
 * @module
 */

import type { GetInput, Listing, WatchLine } from "../api/resource_operations.ts";
import { pause } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import { get, type QueryHost } from "./resources/queries.ts";
import { RecordWatch } from "./records/record_watch.ts";
import { findRecord, findRecordType, toListing } from "./records/records.ts";

/** How often to look. */
const POLL_INTERVAL_MS = 500;
/** How often there is a sign of life. */
const ALIVE_MS = 15_000;

/** Gives what is new since it was last asked; at first, everything. */
type Look = () => Promise<Omit<WatchLine, "deleted"> & Partial<WatchLine>>;

/**
 * What `get` gives, oldest record first, then what changes.
 *
 * @throws {AppError} as `get`.
 */
export async function* watch(
  input: GetInput,
  host: QueryHost,
  signal: AbortSignal,
): AsyncGenerator<WatchLine> {
  const look = findRecordType(input.what) === undefined
    ? watchResources(input, host)
    : watchRecords(input, host);
  yield { deleted: [], ...await look() };
  for (let quietMs = 0; !signal.aborted;) {
    await pause(POLL_INTERVAL_MS, signal);
    if (signal.aborted) return;
    const line = { deleted: [], ...await look() };
    quietMs += POLL_INTERVAL_MS;
    if (line.names.length === 0 && line.deleted.length === 0 && quietMs < ALIVE_MS) continue;
    quietMs = 0;
    yield line;
  }
}

function watchRecords(input: GetInput, host: QueryHost): Look {
  const { store, clock } = host;
  const sort = findRecordType(input.what);
  if (sort === undefined) throw new Error(`No record is called ${input.what}`);
  const show = (rows: readonly unknown[]) => toListing(sort, rows, clock.now());
  if (input.name !== undefined) {
    const { name } = input;
    return onlyChanges(async () => show([await findRecord(sort, name, store)]));
  }
  let records: RecordWatch | undefined;
  return async () => {
    if (records !== undefined) return show(await records.look());
    records = new RecordWatch(sort, input, { store, now: clock.now() });
    return show(await records.start());
  };
}

/** Resources are in memory: they are compared whenever one of them has changed. */
function watchResources(input: GetInput, host: QueryHost): Look {
  let version = -1;
  const changes = onlyChanges(() => get(input, host));
  return async () => {
    if (version === host.catalog.version) return NOTHING;
    version = host.catalog.version;
    return await changes();
  };
}

const NOTHING: Listing = { items: [], names: [], columns: [], rows: [] };

/** Of each listing, what differs from the one before, and what is no longer in it. */
function onlyChanges(list: () => Promise<Listing>): Look {
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
