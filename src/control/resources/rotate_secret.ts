/**
 * `svc tool secret-rotate`: changes one key of a SecretStore in one transaction; the next
 * request uses it.
 *
 * @module
 */

import type { Input, Output } from "../../api/operations.ts";
import { AppError } from "../../base/errors.ts";
import { secretStore as kind, type SecretStoreSpec } from "../../resources/secret_store.ts";
import { findResource, type QueryHost } from "./queries.ts";

/**
 * Sets one key.
 *
 * @throws {AppError} `not_found` for an unknown store, or an unknown key without `create`;
 */
export function rotateSecret(
  input: Input<"secret.rotate">,
  host: QueryHost,
): Promise<Output<"secret.rotate">> {
  const [finding] = kind.check?.({ data: { [input.key]: input.value } }) ?? [];
  if (finding !== undefined) throw new AppError("invalid", finding.message);
  return host.writer.exclusively(async (commit) => {
    const wanted = { project: input.project, name: input.store };
    const resource = findResource(kind, wanted, host.catalog);
    const { data } = resource.spec as SecretStoreSpec;
    const created = !Object.hasOwn(data, input.key);
    if (created && !input.create) {
      throw new AppError(
        "not_found",
        `SecretStore "${input.store}" has no key "${input.key}": add --create to create it`,
      );
    }
    await commit([{
      op: "put",
      resource: {
        ...resource,
        spec: { data: { ...data, [input.key]: input.value } },
        generation: resource.generation + 1,
        updatedAt: host.clock.now(),
      },
    }]);
    return { store: input.store, key: input.key, created };
  });
}
