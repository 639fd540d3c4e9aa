/**
 * The triggers that take the events of a Connection, and the secrets that sign them. Pure over the
 * catalog.
 *
 * @module
 */

import type { Catalog } from "../resources/catalog.ts";
import { type ConnectionSpec, hooksOf } from "../resources/connection.ts";
import { endpointOf } from "../resources/endpoints.ts";
import type { Resource } from "../resources/resource.ts";
import type { TriggerSpec } from "../resources/trigger.ts";

/** The triggers that take the requests of an endpoint. */
export function triggersAt(
  { project, endpoint }: { readonly project: string; readonly endpoint: string },
  catalog: Catalog,
): Resource<TriggerSpec>[] {
  const all = catalog.list("Trigger", project) as Resource<TriggerSpec>[];
  return all.filter((trigger) => endpointOf(trigger) === endpoint);
}

/** Endpoints to which the platform of a Connection posts. */
export function endpointsOf(spec: ConnectionSpec): readonly string[] {
  const named = spec.slack?.endpoint ?? spec.line?.endpoint;
  const hooks = [...new Set(hooksOf(spec).map(({ endpoint }) => endpoint))];
  return named === undefined ? hooks : [...hooks, named];
}

/** Names of the SecretStores that verify the requests of an endpoint. */
export function signingStoresAt(
  at: { readonly project: string; readonly endpoint: string },
  catalog: Catalog,
): readonly string[] {
  const names = triggersAt(at, catalog).map(({ spec }) => spec.event.webhook?.secret?.fromRef);
  return [...new Set(names.filter((name) => name !== undefined))];
}
