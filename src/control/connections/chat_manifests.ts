/**
 * The manifests of a Connection to a chat platform: the package if no trigger takes its events yet,
 * the secret that requests are signed with, tokens, and the Connection itself.
 *
 * @module
 */

import type { ApplyOutcome, ManifestFile } from "../../api/resource_operations.ts";
import type { Caller } from "../../auth/caller.ts";
import { AppError } from "../../base/errors.ts";
import { triggersAt } from "../../connections/endpoints.ts";
import { secretTemplatesOf } from "../../integrations/package_resources.ts";
import { manifestsOf, packageNamed } from "../../integrations/packages.ts";
import type { Catalog } from "../../resources/catalog.ts";
import { type ConnectionSpec, platformOfConnection } from "../../resources/connection.ts";
import type { Resource } from "../../resources/resource.ts";
import { MASK } from "../../resources/names.ts";
import type { SecretStoreSpec } from "../../resources/secret_store.ts";
import type { TriggerSpec } from "../../resources/trigger.ts";
import { apply, type ApplyHost } from "../resources/apply.ts";
import type { ConnectionWork } from "./lines.ts";

/** The chat platforms; each package has one endpoint, of the platform's name. */
export type ChatPlatform = "slack" | "line";

/** A Connection by project and name. */
export interface ConnectionName {
  readonly project: string;
  readonly name: string;
}

/** The SecretStore and key of a token. */
export interface TokenPlace {
  readonly store: string;
  readonly key: string;
}

/** The endpoint that takes the events. */
export interface ChatReceiving {
  readonly endpoint: string;
  /** Manifests of the package; empty when the endpoint has triggers already. */
  readonly files: readonly ManifestFile[];
}

/**
 * The Connection of that name, if there is one.
 *
 * @throws {AppError} `refused` when it is to another platform.
 */
export function knownConnection(
  { project, name }: ConnectionName,
  platform: ChatPlatform,
  catalog: Catalog,
): Resource<ConnectionSpec> | undefined {
  const known = catalog.find<ConnectionSpec>("Connection", project, name);
  if (known === undefined || platformOfConnection(known.spec) === platform) return known;
  const message = `Connection "${name}" is to ${platformOfConnection(known.spec)}: give this one ` +
    "another name with --name";
  throw new AppError("refused", message);
}

/**
 * The endpoint that gets the events, with the package where it has to be installed.
 *
 * @throws {AppError} `refused` when an endpoint is named at which there is no trigger.
 */
export function chatReceiving(
  platform: ChatPlatform,
  { project, endpoint }: { readonly project: string; readonly endpoint: string | undefined },
  catalog: Catalog,
): ChatReceiving {
  const at = endpoint ?? platform;
  if (triggersAt({ project, endpoint: at }, catalog).length > 0) return { endpoint: at, files: [] };
  if (endpoint !== undefined && endpoint !== platform) {
    const message =
      `No trigger of project "${project}" has the endpoint "${endpoint}": apply one, ` +
      `or leave --endpoint out to install the package ${platform}`;
    throw new AppError("refused", message);
  }
  const pack = packageNamed(platform);
  const files = manifestsOf(pack).map(({ path, text }) => ({ name: `${platform}/${path}`, text }));
  return { endpoint: at, files };
}

/**
 * The places of the tokens of a Connection: where they are, else in a SecretStore of their own.
 *
 * @throws {AppError} `refused` when signatures are verified with such a store: its values, the
 * tokens too, would count as signing keys.
 */
export function tokenPlaces<Key extends string>(
  { project, name }: ConnectionName,
  known: Readonly<Partial<Record<Key, { readonly fromSecret: TokenPlace }>>> | undefined,
  { keys, catalog }: { readonly keys: readonly Key[]; readonly catalog: Catalog },
): Readonly<Record<Key, TokenPlace>> {
  const places = keys.map((key) =>
    [key, known?.[key]?.fromSecret ?? { store: `${name}-tokens`, key }] as const
  );
  const triggers = catalog.list("Trigger", project) as Resource<TriggerSpec>[];
  const signing = new Set(triggers.map(({ spec }) => spec.event.webhook?.secret?.fromRef));
  const wrong = places.find(([, { store }]) => signing.has(store));
  if (wrong === undefined) return Object.fromEntries(places) as Record<Key, TokenPlace>;
  const message = `SecretStore "${wrong[1].store}" verifies signatures, so it cannot hold a ` +
    "token: give the Connection another name with --name";
  throw new AppError("refused", message);
}

/** The value of a key of a SecretStore, if there is one. */
export function storedValue(
  { project }: Pick<ConnectionName, "project">,
  { store, key }: TokenPlace,
  catalog: Catalog,
): string | undefined {
  const data = catalog.find<SecretStoreSpec>("SecretStore", project, store)?.spec.data ?? {};
  return Object.hasOwn(data, key) ? data[key] : undefined;
}

/** The SecretStore with which requests to the package's triggers are verified, and its one key. */
export function signingPlace(platform: ChatPlatform): TokenPlace {
  const [template] = secretTemplatesOf(packageNamed(platform));
  const [key] = template?.keys ?? [];
  if (template === undefined || key === undefined) {
    throw new Error("The package has no SecretStore");
  }
  return { store: template.name, key };
}

/** Manifests of the SecretStores in which values are set; keys that are not named stay. */
export function secretFiles(
  { project }: Pick<ConnectionName, "project">,
  values: readonly (TokenPlace & { readonly value: string })[],
  { catalog, labels }: { catalog: Catalog; labels?: Readonly<Record<string, string>> },
): ManifestFile[] {
  const stores = [...new Set(values.map(({ store }) => store))];
  return stores.map((store) => {
    const known = catalog.find<SecretStoreSpec>("SecretStore", project, store);
    const kept = Object.keys(known?.spec.data ?? {}).map((key) => [key, MASK] as const);
    const set = values.filter((one) => one.store === store).map(({ key, value }) =>
      [key, value] as const
    );
    const metadata = known?.metadata ?? (labels === undefined ? {} : { labels });
    return {
      name: `secretstore/${store}`,
      text: JSON.stringify({
        kind: "SecretStore",
        metadata: { ...metadata, name: store, project },
        spec: { data: Object.fromEntries([...kept, ...set]) },
      }),
    };
  });
}

/**
 * Applies the package if it is missing, then the other manifests; yields the warnings.
 *
 * @throws {AppError} what {@linkcode apply} throws.
 */
export async function* applyChat(
  { platform, project, receiving }: {
    readonly platform: ChatPlatform;
    readonly project: string;
    readonly receiving: ChatReceiving;
  },
  others: readonly ManifestFile[],
  caller: Caller,
  host: ApplyHost,
): ConnectionWork<readonly ApplyOutcome[]> {
  const files = [...receiving.files, ...others];
  const { results, warnings } = await apply({ files, project, dry_run: false }, caller, host);
  if (receiving.files.length > 0) yield { step: `package ${platform} installed` };
  for (const warning of warnings) yield { note: warning };
  return results;
}
