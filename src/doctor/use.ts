/**
 * Resources that are applied and unused: a trigger without any delivery, a secret that no signature
 * has matched. Either may be new, or wrong.
 *
 * @module
 */

import type { KeyUses } from "../intake/pipeline/key_uses.ts";
import type { Catalog } from "../resources/catalog.ts";
import type { Resource } from "../resources/resource.ts";
import type { TriggerSpec } from "../resources/trigger.ts";
import type { DeliveryStore, KeyUseStore } from "../store/delivery_store.ts";
import { type Check, ok, warning } from "./check.ts";

/** The resources of a daemon, and the records of their use. */
export interface UseHost {
  readonly catalog: Catalog;
  readonly store: Pick<DeliveryStore, "listDeliveries"> & Pick<KeyUseStore, "listKeyUse">;
  /** Stores which keys have matched until now. */
  readonly keyUses: KeyUses;
}

/** Most names in one sentence. */
const NAMED = 5;

/** Triggers and SecretStores that have not been used. */
export const use: Check<UseHost> = {
  name: "use",
  async look({ catalog, store, keyUses }) {
    const triggers = catalog.list("Trigger") as readonly Resource<TriggerSpec>[];
    const idle: string[] = [];
    const stores = new Map<string, { readonly project: string; readonly name: string }>();
    for (const { project, name, spec } of triggers) {
      const newest = await store.listDeliveries({ project, trigger: name, limit: 1 });
      if (newest.length === 0) idle.push(`${project}/${name}`);
      const secret = spec.event.webhook?.secret?.fromRef;
      if (secret !== undefined) stores.set(`${project}/${secret}`, { project, name: secret });
    }
    await keyUses.flush();
    const unmatched: string[] = [];
    for (const [shown, { project, name }] of stores) {
      if ((await store.listKeyUse(project, name)).length === 0) unmatched.push(shown);
    }
    const found = [
      ...idle.length === 0 ? [] : [warning(
        `svc has no delivery of ${named(idle, "trigger")}: none arrived, or long ago; "svc ` +
          'trigger send" sends one as a platform would, "svc trigger fire" fires other sources',
      )],
      ...unmatched.length === 0 ? [] : [warning(
        `No signature has matched ${named(unmatched, "SecretStore")} yet: where requests came, ` +
          'compare its value with the platform\'s ("svc delivery explain latest")',
      )],
    ];
    if (found.length > 0 || triggers.length === 0) return found;
    return [
      ok(`Each of ${triggers.length} triggers has received something, and signatures matched`),
    ];
  },
};

function named(names: readonly string[], what: string): string {
  const shown = names.slice(0, NAMED).join(", ");
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : "";
  return `${what}${names.length === 1 ? "" : "s"} ${shown}${more}`;
}
