/**
 * Worker that reads manifests for `manifest_reader.ts`. May touch nothing.
 *
 * @module
 */

import { messageOf } from "../base/errors.ts";
import type { ManifestAnswer } from "./manifest_reader.ts";
import { type ManifestInput, readManifests } from "../resources/read_manifests.ts";

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

scope.postMessage("ready");
