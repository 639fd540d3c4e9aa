/**
 * The transform stage: each event through the transformers of the trigger's CRD. Without
 * any, events pass as they are.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { transformPayload } from "../../plugins/phases.ts";
import type { PluginHost } from "../../plugins/run_plugin.ts";
import type { Catalog } from "../../resources/catalog.ts";
import type { TriggerEvent } from "../admission/admit.ts";
import { pluginDelivery } from "./authenticate.ts";
import type { ParsedDelivery } from "./payload.ts";

/** What transforming needs. */
export interface TransformHost {
  /** Holds the CRDs. */
  readonly catalog: Catalog;
  /** Runs transformers. */
  readonly plugins: PluginHost;
}

/**
 * The events as the filter and the steps are to see them.
 *
 * @throws {AppError} `plugin_failed` when a transformer fails or is blocked; `overloaded`.
 */
export async function transform(
  events: readonly TriggerEvent[],
  { delivery }: ParsedDelivery,
  host: TransformHost,
): Promise<readonly TriggerEvent[]> {
  const kind = events[0]?.trigger.resource.spec.event.webhook?.crdRef;
  if (kind === undefined) return events;
  const crd = host.catalog.kinds.crd(kind);
  if (crd === undefined) {
    throw new AppError("plugin_failed", "The payload could not be transformed", {
      reason: `CustomResourceDefinition of kind "${kind}" does not exist`,
    });
  }
  const transformed: TriggerEvent[] = [];
  for (const event of events) {
    const seen = pluginDelivery(delivery, event.trigger);
    // An event that is not the whole body is given to the plugin as what it is.
    const body = events.length > 1 ? event.ownPayload ?? delivery.body : delivery.body;
    const result = await transformPayload(crd.spec, { ...seen, body }, host.plugins);
    transformed.push(
      result === undefined ? event : {
        ...event,
        payload: result.payload,
        ownPayload: result.bytes,
      },
    );
  }
  return transformed;
}
