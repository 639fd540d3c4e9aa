/**
 * Sets or removes one key of a SecretStore in one transaction; from the next request on, the new
 * values count.
 *
 * @module
 */

import { keyUseText } from "../../api/key_use.ts";
import type { Input, Output } from "../../api/operations.ts";
import { AppError } from "../../base/errors.ts";
import type { Catalog } from "../../resources/catalog.ts";
import { compileSchema } from "../../resources/validate.ts";
import { Name } from "../../resources/metadata.ts";
import { DEFAULT_PROJECT, displayName, type Resource } from "../../resources/resource.ts";
import {
  faultOfSecret,
  secretStore as kind,
  type SecretStoreSpec,
} from "../../resources/secret_store.ts";
import { describeUse, pluginReadersOf, usesOf } from "../../resources/users.ts";
import { keyUseView } from "../records/key_use_view.ts";
import { findResource, type QueryHost } from "./queries.ts";

const storeName = compileSchema(Name);

/**
 * Sets one key; with `create` also one that does not exist, in a store that need not exist.
 *
 * @throws {AppError} `not_found` for an unknown store or key without `create`; `invalid` for what
 * cannot be a secret or a name.
 */
export function rotateSecret(
  input: Input<"secret.rotate">,
  host: QueryHost,
): Promise<Output<"secret.rotate">> {
  const { store, key, value, create } = input;
  const fault = faultOfSecret(key, value) ?? storeName.check(store)[0]?.message;
  if (fault !== undefined) throw new AppError("invalid", fault);
  return host.writer.exclusively(async (commit) => {
    const before = findStore(input, host.catalog);
    if (before === undefined && !create) {
      findResource(kind, { ...input, name: store }, host.catalog);
    }
    const data = before?.spec.data ?? {};
    const created = !Object.hasOwn(data, key);
    if (created && !create) {
      throw new AppError(
        "not_found",
        `SecretStore "${store}" has no key "${key}": add --create to create it`,
      );
    }
    const now = host.clock.now();
    const project = input.project ?? DEFAULT_PROJECT;
    const empty = { kind: kind.kind, project, name: store, metadata: {}, createdAt: now };
    const resource = {
      ...before ?? empty,
      spec: { data: { ...data, [key]: value } },
      generation: (before?.generation ?? 0) + 1,
      updatedAt: now,
    };
    await commit([{ op: "put", resource }]);
    const uses = usesOf(resource, host.catalog).length;
    const readers = pluginReadersOf(project, host.catalog).map(displayName);
    return {
      store,
      key,
      created,
      store_created: before === undefined,
      uses,
      readable_by: readers,
    };
  });
}

/**
 * Removes one key.
 *
 * @throws {AppError} `not_found`; without `force` also `conflict` for the only key of a store, and
 * for one that a resource names.
 */
export function removeSecret(
  input: Input<"secret.remove">,
  host: QueryHost,
): Promise<Output<"secret.remove">> {
  const { store, key, force } = input;
  return host.writer.exclusively(async (commit) => {
    const resource = findStore(input, host.catalog) ??
      findResource(kind, { ...input, name: store }, host.catalog);
    const { data } = resource.spec as SecretStoreSpec;
    const use = (await keyUseView(resource, host)).keys[key];
    if (use === undefined) {
      const keys = Object.keys(data).join(", ") || "none";
      throw new AppError("not_found", `SecretStore "${store}" has no key "${key}": it has ${keys}`);
    }
    const all = usesOf(resource, host.catalog);
    const uses = all.filter(({ reference }) => reference.secretKey === key).map(describeUse);
    if (!force && uses.length > 0) {
      throw new AppError(
        "conflict",
        `Nothing was removed: key "${key}" of SecretStore "${store}" is named elsewhere; ` +
          "change that first, or add --force",
        { details: uses },
      );
    }
    if (!force && Object.keys(data).length === 1) {
      const matched = keyUseText(use, host.clock.now());
      throw new AppError(
        "conflict",
        `Nothing was removed: "${key}" is the only key of SecretStore "${store}" (${matched}), ` +
          "and nothing could be verified without it; set another key first, or add --force",
      );
    }
    const rest = Object.entries(data).filter(([name]) => name !== key);
    await commit([{
      op: "put",
      resource: {
        ...resource,
        spec: { data: Object.fromEntries(rest) },
        generation: resource.generation + 1,
        updatedAt: host.clock.now(),
      },
    }]);
    return {
      store,
      key,
      last_matched_at: use.last_matched_at,
      last_matched_value: use.last_matched_value,
      changed_at: use.changed_at,
      matched: use.matched,
      uses,
    };
  });
}

function findStore(
  { store, project = DEFAULT_PROJECT }: { store: string; project?: string | undefined },
  catalog: Catalog,
): Resource<SecretStoreSpec> | undefined {
  return catalog.find<SecretStoreSpec>(kind.kind, project, store);
}
