/**
 * The manifests of a Connection to a forge: the package if no trigger takes its events yet, the
 * secret that the forge signs with, the token, and the Connection itself.
 *
 * @module
 */

import type { ManifestFile } from "../../api/resource_operations.ts";
import { toHex } from "../../base/bytes.ts";
import { AppError } from "../../base/errors.ts";
import { FORGE_WORDS, type ForgeName } from "../../base/forge_names.ts";
import { signingStoresAt, triggersAt } from "../../connections/endpoints.ts";
import { endpointsOfPackage, secretTemplatesOf } from "../../integrations/package_resources.ts";
import { type IntegrationPackage, manifestsOf, packageNamed } from "../../integrations/packages.ts";
import type { Catalog } from "../../resources/catalog.ts";
import { API_URLS, apiUrlOf, type ConnectionSpec } from "../../resources/connection.ts";
import type { Resource } from "../../resources/resource.ts";
import { MASK } from "../../resources/names.ts";
import type { SecretStoreSpec } from "../../resources/secret_store.ts";
import type { TriggerSpec } from "../../resources/trigger.ts";

/** The endpoint that takes the events. */
export interface Receiving {
  readonly endpoints: readonly string[];
  /** SecretStore whose values verify the signatures. */
  readonly store: string;
  /** Manifests to apply for it. */
  readonly files: readonly ManifestFile[];
  /** Whether they are those of the package. */
  readonly installs: boolean;
}

/**
 * The endpoint that takes events of a forge in a project, with triggers that exist or those of the
 * package.
 *
 * @throws {AppError} `refused` when no trigger is at the endpoint, or its requests are not
 * verified.
 */
export function receivingOf(
  { project, endpoint, forge = "github" }: {
    readonly project: string;
    readonly endpoint: string | undefined;
    readonly forge?: ForgeName;
  },
  catalog: Catalog,
): Receiving {
  if (endpoint !== undefined) return ofEndpoints([endpoint], { project, forge }, catalog);
  const pack = packageNamed(forge);
  const endpoints = [...endpointsOfPackage(pack).keys()];
  const there = endpoints.filter((one) =>
    triggersAt({ project, endpoint: one }, catalog).length > 0
  );
  if (there.length > 0) return ofEndpoints(there, { project, forge }, catalog);
  const [template] = secretTemplatesOf(pack);
  if (template === undefined) throw new Error("The package has no SecretStore");
  return { endpoints, store: template.name, files: filesOf(pack), installs: true };
}

function ofEndpoints(
  endpoints: readonly string[],
  { project, forge }: { readonly project: string; readonly forge: ForgeName },
  catalog: Catalog,
): Receiving {
  const stores = endpoints.map((endpoint) => {
    if (triggersAt({ project, endpoint }, catalog).length === 0) {
      const message = `No trigger of project "${project}" has the endpoint "${endpoint}": apply ` +
        `one, or leave --endpoint out to install the package ${forge}`;
      throw new AppError("refused", message);
    }
    return signingStoresAt({ project, endpoint }, catalog);
  }).flat();
  const [store, ...others] = [...new Set(stores)];
  if (store === undefined || others.length > 0) {
    const found = store === undefined ? "none" : [store, ...others].join(", ");
    const message = `The triggers at ${endpoints.join(", ")} must name one SecretStore under ` +
      `event.webhook.secret, found ${found}: ${FORGE_WORDS[forge].title} signs with a value of it`;
    throw new AppError("refused", message);
  }
  return { endpoints, store, files: [], installs: false };
}

function filesOf(pack: IntegrationPackage): ManifestFile[] {
  return manifestsOf(pack).map(({ path, text }) => ({ name: `${pack.name}/${path}`, text }));
}

/** One key of a SecretStore to set; the other keys stay as they are. */
export interface SecretToSet {
  readonly project: string;
  readonly store: string;
  readonly key: string;
  readonly value: string;
  /** Whether it replaces another value. */
  readonly replace: boolean;
  /** Labels of a new store. */
  readonly labels?: Readonly<Record<string, string>>;
}

/** The value that a key has, or will have. */
export function valueOf(
  { project, store, key, value, replace }: SecretToSet,
  catalog: Catalog,
): string {
  const data = catalog.find<SecretStoreSpec>("SecretStore", project, store)?.spec.data ?? {};
  return !replace && Object.hasOwn(data, key) ? data[key] ?? value : value;
}

/** The manifest of a SecretStore in which a key is set. */
export function secretFile(set: SecretToSet, catalog: Catalog): ManifestFile {
  const { project, store, key } = set;
  const known = catalog.find<SecretStoreSpec>("SecretStore", project, store);
  const masked = Object.keys(known?.spec.data ?? {}).map((name) => [name, MASK] as const);
  const data = { ...Object.fromEntries(masked), [key]: valueOf(set, catalog) };
  const metadata = known?.metadata ?? (set.labels === undefined ? {} : { labels: set.labels });
  return manifest(`secretstore/${store}`, {
    kind: "SecretStore",
    metadata: { ...metadata, name: store, project },
    spec: { data },
  });
}

/** The manifest of a Connection. */
export function connectionFile(
  { project, name }: { readonly project: string; readonly name: string },
  spec: ConnectionSpec,
  known: Resource<ConnectionSpec> | undefined,
): ManifestFile {
  const metadata = { ...known?.metadata, name, project };
  return manifest(`connection/${name}`, { kind: "Connection", metadata, spec });
}

function manifest(name: string, value: unknown): ManifestFile {
  return { name, text: JSON.stringify(value, null, 2) };
}

/**
 * The SecretStore for the token of a Connection: that of a Connection that exists, else a store of
 * its name.
 *
 * @throws {AppError} `refused` when signatures are verified with that store: its values, the token
 * too, would count as signing keys.
 */
export function tokenStoreOf(
  { project, name }: { readonly project: string; readonly name: string },
  known: Resource<ConnectionSpec> | undefined,
  { signing, catalog, key = "token" }: {
    readonly signing: string;
    readonly catalog: Catalog;
    /** Its key in a new store. */
    readonly key?: string;
  },
): { readonly store: string; readonly key: string } {
  const { github, gitlab } = known?.spec ?? {};
  const token = github?.token ?? github?.app?.privateKey ?? gitlab?.token;
  const place = token?.fromSecret ?? { store: name, key };
  const triggers = catalog.list("Trigger", project) as Resource<TriggerSpec>[];
  const signs = place.store === signing ||
    triggers.some(({ spec }) => spec.event.webhook?.secret?.fromRef === place.store);
  if (!signs) return place;
  const message = `SecretStore "${place.store}" verifies signatures, so it cannot hold the ` +
    "token: give the Connection another name with --name";
  throw new AppError("refused", message);
}

/** A random secret, in hexadecimal. */
export function newSecret(): string {
  return toHex(crypto.getRandomValues(new Uint8Array(32)));
}

/** Address of a webhook that is to send nothing: no name below it exists. */
const DEAD_URL = "https://svc.invalid";

/** How a forge and svc reach each other. */
export interface ForgeWay {
  /** Whether the forge sends events, or svc reads them from its log. */
  readonly events: "push" | "pull";
  /** Base URL of the API, without a slash at its end. */
  readonly api: string;
  /** Base URL of the webhooks, without a slash at its end. */
  readonly base: string;
}

/**
 * The way between a forge and svc that a person asks for; the API of a Connection that is there stays.
 *
 * @throws {AppError} `usage` where the forge is to send events, and no address is given.
 */
export function wayOf(
  input: { readonly pull?: boolean; readonly url?: string; readonly api?: string },
  known: Resource<ConnectionSpec> | undefined,
  forge: ForgeName = "github",
): ForgeWay {
  const events = input.pull === true ? "pull" : "push";
  if (events === "push" && input.url === undefined) {
    const or = forge === "github" ? ", or use --pull without one" : "";
    const { title } = FORGE_WORDS[forge];
    const message = `${title} needs an address that reaches the daemon: give it with --url${or}`;
    throw new AppError("usage", message);
  }
  const given = input.api ?? (known === undefined ? undefined : apiUrlOf(known.spec));
  const api = (given ?? API_URLS[forge]).replace(/\/+$/, "");
  return { events, api, base: (input.url ?? DEAD_URL).replace(/\/+$/, "") };
}
