/**
 * Starts processes one after the other until it is ended, in a thread of its own.
 *
 * @module
 */

const scope = globalThis as unknown as DedicatedWorkerGlobalScope;

for (let started = 0;; started++) {
  await new Deno.Command("/bin/sh", { args: ["-c", ":"] }).output();
  if (started === 0) scope.postMessage("at work");
}
