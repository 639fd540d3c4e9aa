/**
 * Shows which keys of a SecretStore still match deliveries, and which can be removed after a
 * rotation.
 *
 * @module
 */

import type { KeyUseView } from "../../api/key_use.ts";
import { rfc3339, type WallClock } from "../../base/clock.ts";
import type { KeyUses } from "../../intake/pipeline/key_uses.ts";
import type { Resource } from "../../resources/resource.ts";
import type { SecretStoreSpec } from "../../resources/secret_store.ts";
import type { KeyUseStore } from "../../store/delivery_store.ts";

/** A key can be removed after it was unused for this long while another was used. */
const IDLE_MS = 72 * 3600 * 1000;

/** `status.keys` of a SecretStore, in the order of its keys. */
export async function keyUseView(
  resource: Resource,
  { store, keyUses, clock }: {
    readonly store: KeyUseStore;
    readonly keyUses: Pick<KeyUses, "flush">;
    readonly clock: WallClock;
  },
): Promise<{ keys: Record<string, KeyUseView> }> {
  await keyUses.flush();
  const uses = await store.listKeyUse(resource.project, resource.name);
  const now = clock.now();
  const names = Object.keys((resource.spec as SecretStoreSpec).data);
  const lastOf = (key: string) =>
    uses.filter((use) => use.key === key).reduce((last, use) => Math.max(last, use.lastAt), 0);
  const newest = Math.max(0, ...names.map(lastOf));
  const keys = names.map((key) => {
    const own = uses.filter((use) => use.key === key);
    const last = lastOf(key);
    const changes = changesOf(resource, key);
    // An unused key counts from the last change of the store: a new key could not be used yet.
    const idleSince = Math.max(last, resource.updatedAt);
    const removable = newest > last && now - idleSince > IDLE_MS && now - newest <= IDLE_MS;
    const [changedAt] = changes;
    const view: KeyUseView = {
      last_matched_at: last === 0 ? null : rfc3339(last),
      last_matched_value: last === 0 ? null : valueAt(last, changes, resource.updatedAt),
      changed_at: changedAt === undefined ? null : rfc3339(changedAt),
      matched: own.reduce((sum, use) => sum + use.count, 0),
      triggers: own.map((use) => use.trigger).sort(),
      ...(removable ? { note: "not used for 72 h while another key was: it can be removed" } : {}),
    };
    return [key, view] as const;
  });
  return { keys: Object.fromEntries(keys) };
}

/** The times at which the value of a key was set, newest first; empty if they were not kept. */
function changesOf({ valuesChangedAt = {} }: Resource, key: string): readonly number[] {
  return Object.hasOwn(valuesChangedAt, key) ? valuesChangedAt[key] ?? [] : [];
}

/** Which of its values a key had at a time; `null` if the times of its changes were not kept. */
function valueAt(
  time: number,
  [changedAt, before = 0]: readonly number[],
  storeChangedAt: number,
): KeyUseView["last_matched_value"] {
  if (changedAt === undefined) return time >= storeChangedAt ? "current" : null;
  if (time >= changedAt) return "current";
  return time >= before ? "previous" : "earlier";
}
