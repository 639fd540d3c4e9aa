/**
 * Says why no events of a trigger arrive: its files cannot be watched, or a Connection that
 * receives its events does not work.
 *
 * @module
 */

import type { HealthConditions } from "../../base/health_conditions.ts";
import { endpointsOf } from "../../connections/endpoints.ts";
import type { ConnectionSpec } from "../../resources/connection.ts";
import { endpointOf } from "../../resources/endpoints.ts";
import { watchCondition } from "../../resources/event_filesystem.ts";
import { displayName, type Resource } from "../../resources/resource.ts";
import type { TriggerSpec } from "../../resources/trigger.ts";
import { type ConnectionViewHost, knownConnections } from "./connection_view.ts";

/** The Connections of a daemon, and its health. */
export interface SourceViewHost extends ConnectionViewHost {
  readonly health: HealthConditions;
}

/** The `status` of a Trigger, as far as its source is concerned; empty for other kinds. */
export async function sourceStatus(
  resource: Resource,
  host: SourceViewHost,
): Promise<Record<string, unknown>> {
  if (resource.kind !== "Trigger") return {};
  const trigger = resource as Resource<TriggerSpec>;
  const { project, name } = trigger;
  const watch = trigger.spec.event.source === "filesystem"
    ? host.health.find(watchCondition({ project, trigger: name }))
    : undefined;
  return { faults: [...watch === undefined ? [] : [watch], ...await brokenAt(trigger, host)] };
}

/** The faults of the Connections whose events come to the endpoint of the trigger. */
async function brokenAt(
  trigger: Resource<TriggerSpec>,
  host: SourceViewHost,
): Promise<readonly string[]> {
  const endpoint = endpointOf(trigger);
  if (endpoint === undefined) return [];
  const all = host.catalog.list("Connection", trigger.project) as Resource<ConnectionSpec>[];
  const bringing = all.filter(({ spec }) => endpointsOf(spec).includes(endpoint));
  const known = await knownConnections(bringing, host);
  return [...known].flatMap(([connection, { fault, socket }]) => {
    const wrong = socket === undefined ? fault : socket.problem;
    return wrong === undefined
      ? []
      : [`${displayName(connection)}, which brings its events: ${wrong}`];
  });
}
