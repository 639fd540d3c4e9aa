/**
 * Registers each case of a task's log once for every store of logs.
 *
 * @module
 */

import { systemClock } from "../../src/base/clock.ts";
import { LogFiles } from "../../src/store/files/log_files.ts";
import type { StoredLog } from "../../src/store/log_store.ts";
import { openPostgresStore } from "../../src/store/postgres/open_store.ts";
import { createTestDatabase, postgresTest } from "../helpers/postgres.ts";
import { accept, taskIdOf } from "../helpers/store_records.ts";
import { tempDir } from "../helpers/temp_dir.ts";

/** An empty log, which goes away with the test. */
interface TestedLog extends AsyncDisposable {
  readonly log: StoredLog;
}

/** A store of logs. */
interface Tested {
  /** Prefix of the names of its tests. */
  readonly name: string;
  /** Registers a test; ignored where the machine lacks what the store needs. */
  test(name: string, fn: () => Promise<void>): void;
  /** Opens an empty log. */
  open(): Promise<TestedLog>;
}

/** The stores of logs, one a line. */
const STORES: readonly Tested[] = [
  { name: "files", test: Deno.test, open: openFile },
  { name: "PostgreSQL", test: postgresTest, open: openRows },
];

/** Registers a test for each store, with an empty log of a running task. */
export function eachLog(
  name: string,
  body: (log: StoredLog) => Promise<void>,
): void {
  for (const store of STORES) {
    store.test(`${store.name}: ${name}`, async () => {
      await using tested = await store.open();
      await body(tested.log);
    });
  }
}

/** Options of a writer that nothing stops. */
export const WRITING = { onWritten: () => {}, stop: new AbortController().signal };

/** Adds lines to a log. */
export async function addTo(log: StoredLog, lines: Uint8Array): Promise<void> {
  await using writer = log.write(WRITING);
  await writer.append(lines);
}

async function openFile(): Promise<TestedLog> {
  const dir = await tempDir();
  const dispose = () => dir[Symbol.asyncDispose]();
  return { log: new LogFiles(dir.path).of(taskIdOf(1)), [Symbol.asyncDispose]: dispose };
}

async function openRows(): Promise<TestedLog> {
  await using opening = new AsyncDisposableStack();
  const { url } = opening.use(await createTestDatabase());
  const owner = { node: "node", run: "run" };
  const store = opening.use(await openPostgresStore({ url, owner, clock: systemClock }));
  await accept(store, 1);
  await store.claimTasks(1, systemClock.now());
  const opened = opening.move();
  return { log: store.logs.of(taskIdOf(1)), [Symbol.asyncDispose]: () => opened.disposeAsync() };
}
