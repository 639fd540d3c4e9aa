/**
 * The time from a request to the first byte of the process of the task's first step.
 *
 * @module
 */

import type { LoadRequest } from "./load.ts";
import { sendOne } from "./site.ts";

/** Pause of the daemon before each measurement. */
const REST_MS = 30;

/** Makes the pipe that a step writes into. */
export async function makePipe(path: string): Promise<void> {
  const { success } = await new Deno.Command("mkfifo", { args: [path] }).output();
  if (!success) throw new Error("mkfifo failed");
}

/**
 * The time in milliseconds from the start of the request. That is before the commit, so the figure
 * errs on the safe side.
 */
export async function firstByteMs(pipe: string, request: LoadRequest): Promise<number> {
  using reader = await Deno.open(pipe, { read: true, write: true }); // else it would wait for a writer
  const start = performance.now();
  const first = reader.read(new Uint8Array(1)).then(() => performance.now());
  await sendOne(request);
  const spoken = await first;
  await new Promise((resolve) => setTimeout(resolve, REST_MS));
  return spoken - start;
}
