/**
 * How triggers reach the platforms that they need, as an operator is told: on apply, in `svc describe`
 * and, while there is no way, in `svc status`. What could not be sent meanwhile is in the outbox.
 *
 * @module
 */

import { type Way, waysOf } from "../../connections/ways.ts";
import type { Catalog } from "../../resources/catalog.ts";
import type { PlacedUse } from "../../resources/read_manifests.ts";
import { DEFAULT_PROJECT, type Resource, type ResourceKey } from "../../resources/resource.ts";
import type { TriggerSpec } from "../../resources/trigger.ts";

/**
 * A warning for each thing of the input for which there is no way.
 *
 * @param stated What the triggers of the input need, with its places.
 * @param proposed The catalog as it is with them.
 */
export function wayWarnings(stated: readonly PlacedUse[], proposed: Catalog): string[] {
  return stated.flatMap(({ project, name, field, place }) => {
    const trigger = proposed.find<TriggerSpec>("Trigger", project, name);
    const way = trigger === undefined
      ? undefined
      : waysOf(trigger, proposed).find(({ at }) => at.join(".") === field);
    return way?.lack === undefined ? [] : [`${place}${way.consequence}: ${way.lack}`];
  });
}

/** What `status` of a Trigger says of its ways; nothing for other kinds. */
export function wayStatus(resource: Resource, catalog: Catalog): Record<string, unknown> {
  if (resource.kind !== "Trigger") return {};
  const ways = waysOf(resource as Resource<TriggerSpec>, catalog);
  return {
    platforms: ways.map(({ platform, does, at, over, lack }) => (
      { platform, does, field: at.join("."), over, lack: lack ?? null }
    )),
  };
}

/** Most triggers that one sentence names. */
const NAMED = 3;

/** What triggers need and have no way to: a sentence for each thing that is missing. */
export function lackingWays(catalog: Catalog): readonly string[] {
  const lacking = new Map<string, { readonly way: Way; readonly names: string[] }>();
  for (const trigger of catalog.list("Trigger") as Resource<TriggerSpec>[]) {
    if (trigger.spec.suspend === true) continue;
    for (const way of waysOf(trigger, catalog)) {
      if (way.lack === undefined) continue;
      const key = `${way.does} ${way.lack}`;
      const known = lacking.get(key);
      if (known === undefined) lacking.set(key, { way, names: [nameOf(trigger)] });
      else known.names.push(nameOf(trigger));
    }
  }
  return [...lacking.values()].map(({ way: { does, lack }, names }) => {
    const shown = names.slice(0, NAMED).join(", ");
    const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : "";
    const what = does === "asks"
      ? "every task fails, because nobody can be asked who may start it"
      : "no task is answered";
    return `${names.length === 1 ? "trigger" : "triggers"} ${shown}${more}: ${what}: ${lack}`;
  });
}

function nameOf({ project, name }: ResourceKey): string {
  return project === DEFAULT_PROJECT ? name : `${project}/${name}`;
}
