/**
 * The key file: whether it exists, and opens the sealed secrets.
 *
 * @module
 */

import { secretStore } from "../resources/secret_store.ts";
import { findKeyFault, keyRemedy } from "../secrets/key_file.ts";
import { findClosedSecrets, findFormerKey } from "../upkeep/check.ts";
import { type Check, failed, ok } from "./check.ts";
import type { Scene } from "./place.ts";

/** Opens every sealed value. */
export const key: Check<Scene> = {
  name: "key",
  async look(scene, signal) {
    if (!await scene.isUsable()) return [];
    const { dirs } = scene.place;
    const path = dirs.secretKey;
    const seen = await scene.database(signal).catch(() => undefined); // the check of the database reports it
    const sealed = (seen?.resources ?? []).filter(({ kind }) => kind === secretStore.kind);
    const fault = await findKeyFault(path);
    if (fault !== undefined) {
      const isKnown = seen !== undefined && seen.faults.length === 0;
      const says = isKnown ? "SecretStores are sealed with it" : "it may be needed";
      return [
        failed(keyRemedy(path, fault, isKnown && sealed.length === 0 ? undefined : { says })),
      ];
    }
    const closed = await findClosedSecrets(sealed, dirs);
    if (closed.length > 0) {
      const former = await findFormerKey(closed.map(({ resource }) => resource), dirs);
      const cure = former === undefined ? "" : `; "${former.path}" opens them`;
      return [...new Set(closed.map((one) => one.fault))].map((said) => failed(`${said}${cure}`));
    }
    return [ok(
      sealed.length === 0
        ? `${path}, nothing is sealed with it yet`
        : `${path} opens every SecretStore (${sealed.length})`,
    )];
  },
};
