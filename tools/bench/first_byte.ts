/**
 * How long it takes until the process of a task's first step writes its first byte.
 *
 * @module
 */

import type { LoadRequest } from "./load.ts";
import { sendOne } from "./site.ts";

/** So long a daemon rests before it is measured anew. */
const REST_MS = 30;

/** Makes the pipe that a step writes into. */
export async function makePipe(path: string): Promise<void> {
  const { success } = await new Deno.Command("mkfifo", { args: [path] }).output();
  if (!success) throw new Error("mkfifo failed");
}

/**
 * Milliseconds from the moment the request is sent, which is earlier than the commit, so the figure
 * is on the safe side.
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
