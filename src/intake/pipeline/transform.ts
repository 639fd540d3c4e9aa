/**
 * The transform stage: each event passes through the transformers of the trigger's CRD, if it has
 * any.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { transformPayload } from "../../plugins/phases.ts";
import type { PluginHost } from "../../plugins/run_plugin.ts";
import type { Catalog } from "../../resources/catalog.ts";
import { withoutPayload } from "../../signatures/coverage.ts";
import type { TriggerEvent } from "../admission/admit.ts";
import { pluginDelivery } from "./authenticate.ts";
import type { ParsedDelivery } from "./payload.ts";

/** What transforming needs. */
export interface TransformHost {
  readonly catalog: Catalog;
  readonly plugins: PluginHost;
}

/**
 * The events with the payloads that the filter and the steps will see.
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
    // Of a batch, a plugin gets the JSON of its one event instead of the whole body.
    const body = events.length > 1 ? event.ownPayload ?? delivery.body : delivery.body;
    const result = await transformPayload(crd.spec, { ...seen, body }, host.plugins);
    if (result === undefined) transformed.push(event);
    else transformed.push(transformedEvent(event, result));
  }
  return transformed;
}

/** What a plugin has made is no longer what was signed. */
function transformedEvent(
  event: TriggerEvent,
  { payload, bytes }: { readonly payload: unknown; readonly bytes: Uint8Array },
): TriggerEvent {
  const { coverage, ...rest } = event;
  const made = { ...rest, payload, ownPayload: bytes };
  return coverage === undefined ? made : { ...made, coverage: withoutPayload(coverage) };
}
