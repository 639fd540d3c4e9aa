/**
 * The transform stage: each event passes through the transformers of the trigger's CRD, if it has
 * any.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { transformPayload } from "../../plugins/phases.ts";
import type { PluginHost } from "../../plugins/run_plugin.ts";
import type { Catalog } from "../../resources/catalog.ts";
import { withoutPayload } from "../../signatures/coverage.ts";
import type { TriggerEvent } from "../admission/admit.ts";
import { pluginDelivery } from "./authenticate.ts";
import type { ParsedDelivery } from "./payload.ts";

/** The parts of the daemon that know and run transformers. */
interface TransformHost {
  readonly catalog: Catalog;
  readonly plugins: PluginHost;
}

/**
 * The events with the payloads that the filter and the steps will see.
 *
 * @throws {AppError} `plugin_failed` if a transformer fails or is blocked; `overloaded`.
 */
export function transform(
  events: readonly TriggerEvent[],
  parsed: ParsedDelivery,
  host: TransformHost,
): readonly TriggerEvent[] | Promise<readonly TriggerEvent[]> {
  const kind = events[0]?.trigger.webhook.crdRef;
  return kind === undefined ? events : transformBy(kind, events, parsed, host);
}

async function transformBy(
  kind: string,
  events: readonly TriggerEvent[],
  { delivery }: ParsedDelivery,
  { catalog, plugins }: TransformHost,
): Promise<readonly TriggerEvent[]> {
  const crd = catalog.kinds.crd(kind);
  if (crd === undefined) {
    throw new AppError("plugin_failed", "The payload could not be transformed", {
      reason: `CustomResourceDefinition of kind "${kind}" does not exist`,
    });
  }
  const transformed: TriggerEvent[] = [];
  for (const event of events) {
    const seen = pluginDelivery(delivery, event.trigger);
    // For an event of a batch, a plugin gets the JSON of that event instead of the whole body.
    const body = events.length > 1 ? event.ownPayload ?? delivery.body : delivery.body;
    const result = await transformPayload(crd.spec, { ...seen, body }, plugins);
    if (result === undefined) transformed.push(event);
    else transformed.push(transformedEvent(event, result));
  }
  return transformed;
}

/** The event after a plugin; no signature covers its payload any more. */
function transformedEvent(
  event: TriggerEvent,
  { payload, bytes }: { readonly payload: unknown; readonly bytes: Uint8Array },
): TriggerEvent {
  const { coverage, ...rest } = event;
  return {
    ...rest,
    payload,
    ownPayload: bytes,
    ...defined({ coverage: coverage && withoutPayload(coverage) }),
  };
}
