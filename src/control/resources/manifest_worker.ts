/**
 * Worker that reads manifests for `read_apart.ts`. May touch nothing.
 *
 * @module
 */

import { messageOf } from "../../base/errors.ts";
import type { ManifestAnswer } from "./read_apart.ts";
import { type ManifestInput, readManifests } from "../../resources/read_manifests.ts";

const scope = globalThis as unknown as DedicatedWorkerGlobalScope;

function answer(input: ManifestInput): ManifestAnswer {
  try {
    return { read: readManifests(input) };
  } catch (error) {
    return { error: messageOf(error) };
  }
}

scope.onmessage = (event: MessageEvent<ManifestInput>) => {
  scope.postMessage(answer(event.data));
};
