/**
 * Reads manifests in a Worker that may touch nothing, for the process that `manifest_reader.ts`
 * starts: a schema of the user's becomes code there.
 *
 * @module
 */

import type { ManifestInput, ManifestsRead } from "../../resources/read_manifests.ts";

/** The answer of the Worker. */
export type ManifestAnswer = { readonly read: ManifestsRead } | { readonly error: string };

/** Environment variables that the YAML library reads. */
const YAML_DEBUGGING = ["LOG_TOKENS", "LOG_STREAM"];

/** Reads an input in a Worker of its own, and ends it. */
export async function readApart(input: ManifestInput): Promise<ManifestsRead> {
  const worker = new Worker(import.meta.resolve("#manifest-worker"), {
    type: "module",
    deno: { permissions: { env: YAML_DEBUGGING } },
  });
  const { promise, resolve, reject } = Promise.withResolvers<ManifestAnswer>();
  worker.onerror = (event) => {
    event.preventDefault();
    reject(new Error(event.message));
  };
  worker.onmessage = (event: MessageEvent<ManifestAnswer>) => resolve(event.data);
  worker.postMessage(input);
  try {
    const answer = await promise;
    if ("read" in answer) return answer.read;
    throw new Error(answer.error);
  } finally {
    worker.terminate();
  }
}
