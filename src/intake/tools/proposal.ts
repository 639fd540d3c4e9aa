/**
 * The effect of proposed manifests on a trigger: whether they concern it, and whether they change how
 * its senders are checked.
 *
 * @module
 */

import { pluginsOf } from "../../plugins/phases.ts";
import type { Catalog } from "../../resources/catalog.ts";
import { CRD_KIND, type CrdSpec } from "../../resources/custom_resource_definition.ts";
import { senderSettings } from "../../resources/endpoints.ts";
import type { Resource } from "../../resources/resource.ts";
import type { SecretStoreSpec } from "../../resources/secret_store.ts";
import { trigger as triggerKind, type TriggerSpec } from "../../resources/trigger.ts";

/** Manifests that are not applied yet. */
export interface Proposal {
  readonly catalog: Catalog;
  /** The resources of the manifests, changed or not. */
  readonly resources: readonly Resource[];
}

/** Whether the manifests hold a trigger, or a resource that it names. */
export function concerns({ resources }: Proposal, trigger: Resource<TriggerSpec>): boolean {
  const references = triggerKind.references?.(trigger.spec) ?? [];
  const names = [{ kind: trigger.kind, name: trigger.name }, ...references];
  return resources.some((resource) =>
    (resource.project === trigger.project || resource.project === "") &&
    names.some(({ kind, name }) =>
      resource.kind === kind && (resource.name === name || kindMadeBy(resource) === name)
    )
  );
}

/** The kind that a CustomResourceDefinition defines; a trigger names the definition by it. */
function kindMadeBy({ kind, spec }: Resource): string | undefined {
  return kind === CRD_KIND ? (spec as CrdSpec).kind : undefined;
}

/** Whether two catalogs check the senders of a trigger by the same settings, secrets and plugins. */
export function checksTheSame(
  trigger: Resource<TriggerSpec>,
  one: Catalog,
  other: Catalog,
): boolean {
  const [before, after] = [one, other].map((catalog) => checksOf(trigger, catalog));
  return before !== undefined && before === after;
}

/** All settings that decide on the senders of a trigger, as text; `undefined` without the trigger. */
function checksOf({ project, name }: Resource<TriggerSpec>, catalog: Catalog): string | undefined {
  const trigger = catalog.find<TriggerSpec>("Trigger", project, name);
  if (trigger === undefined) return undefined;
  const webhook = trigger.spec.event.webhook ?? {};
  const { secret, crdRef } = webhook;
  const store = secret === undefined
    ? undefined
    : catalog.find<SecretStoreSpec>("SecretStore", project, secret.fromRef);
  const crd = crdRef === undefined ? undefined : catalog.kinds.crd(crdRef);
  return JSON.stringify([
    senderSettings(webhook),
    store?.spec.data,
    crd === undefined ? undefined : pluginsOf(crd.spec, "interceptor"),
  ]);
}
