/**
 * Shows operators how triggers reach the platforms that they need: on apply, in `svc describe` and,
 * while a trigger cannot reach one, in `svc status`. Messages that could not be sent meanwhile are
 * in the outbox.
 *
 * @module
 */

import { capitalized } from "../../base/sentence.ts";
import { waysOf } from "../../connections/ways.ts";
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
    if (way?.lack === undefined) return [];
    const { consequence, lack } = way;
    return [`${place}${capitalized(consequence)}: ${lack}`];
  });
}

/** The `status` of a Trigger, as far as its ways are concerned; empty for other kinds. */
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

/** A sentence for each need of triggers for which there is no way. */
export function lackingWays(catalog: Catalog): readonly string[] {
  const lacking = new Map<string, string[]>();
  for (const trigger of catalog.list("Trigger") as Resource<TriggerSpec>[]) {
    if (trigger.spec.suspend === true) continue;
    for (const way of waysOf(trigger, catalog)) {
      if (way.lack === undefined) continue;
      const what = `${way.consequence}: ${way.lack}`;
      lacking.set(what, [...lacking.get(what) ?? [], nameOf(trigger)]);
    }
  }
  return Array.from(lacking, ([what, names]) => {
    const shown = names.slice(0, NAMED).join(", ");
    const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : "";
    return `${names.length === 1 ? "trigger" : "triggers"} ${shown}${more}: ${what}`;
  });
}

function nameOf({ project, name }: ResourceKey): string {
  return project === DEFAULT_PROJECT ? name : `${project}/${name}`;
}
