/**
 * Logs of tasks in each store that takes them: a case is a test for each, judged through the
 * interface alone.
 *
 * @module
 */

import { LogFiles } from "../../../src/store/files/log_files.ts";
import type { StoredLog } from "../../../src/store/log_store.ts";
import { taskIdOf } from "../../helpers/store_records.ts";
import { tempDir } from "../../helpers/temp_dir.ts";

/** An empty log, which goes away with the test. */
export interface TestedLog extends AsyncDisposable {
  readonly log: StoredLog;
}

/** The stores: another one is a line here. */
const STORES: readonly { readonly name: string; open(): Promise<TestedLog> }[] = [
  { name: "files", open: openFile },
];

/** Registers a test for each store, with an empty log of a running task. */
export function eachLog(name: string, body: (log: StoredLog) => Promise<void>): void {
  for (const store of STORES) {
    Deno.test(`${store.name}: ${name}`, async () => {
      await using tested = await store.open();
      await body(tested.log);
    });
  }
}

/** What a writer is told where nothing stops it. */
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
