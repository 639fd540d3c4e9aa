/**
 * Which keys of a SecretStore still match deliveries, and which can be removed after a rotation.
 *
 * @module
 */

import { type Clock, rfc3339 } from "../../base/clock.ts";
import type { KeyUses } from "../../intake/pipeline/key_uses.ts";
import type { Resource } from "../../resources/resource.ts";
import type { SecretStoreSpec } from "../../resources/secret_store.ts";
import type { KeyUseStore } from "../../store/delivery_store.ts";

/** A key can be removed after it was unused for this long while another was used. */
const IDLE_MS = 72 * 3600 * 1000;

/** `status.keys` of a SecretStore. */
export async function keyUseView(
  resource: Resource,
  host: {
    readonly store: KeyUseStore;
    readonly keyUses: KeyUses;
    readonly clock: Clock;
  },
): Promise<{ keys: Record<string, unknown> }> {
  await host.keyUses.flush();
  const uses = await host.store.listKeyUse(resource.project, resource.name);
  const names = Object.keys((resource.spec as SecretStoreSpec).data);
  const lastOf = (key: string) =>
    uses.filter((use) => use.key === key).reduce((last, use) => Math.max(last, use.lastAt), 0);
  const newest = Math.max(0, ...names.map(lastOf));
  const keys = names.map((key) => {
    const own = uses.filter((use) => use.key === key);
    const last = lastOf(key);
    // An unused key counts from the last change of the store: a new key could not be used yet.
    const idleSince = Math.max(last, resource.updatedAt);
    const removable = newest > last && host.clock.now() - idleSince > IDLE_MS &&
      host.clock.now() - newest <= IDLE_MS;
    return [key, {
      last_matched_at: last === 0 ? null : rfc3339(last),
      matched: own.reduce((sum, use) => sum + use.count, 0),
      triggers: own.map((use) => use.trigger).sort(),
      ...(removable ? { note: "not used for 72 h while another key was: it can be removed" } : {}),
    }];
  });
  return { keys: Object.fromEntries(keys) };
}
