/**
 * The one way resources change: one change at a time, committed to disk first, then applied to the
 * catalog. Encrypts secret values before they are stored.
 *
 * @module
 */

import { Catalog } from "../../resources/catalog.ts";
import type { Resource } from "../../resources/resource.ts";
import { secretStore, type SecretStoreSpec } from "../../resources/secret_store.ts";
import { trigger, type TriggerSpec } from "../../resources/trigger.ts";
import type { Keyring } from "../../secrets/keyring.ts";
import { mapSecrets } from "../../secrets/secret_stores.ts";
import type { Events } from "../../store/events.ts";
import type { ResourceChange, ResourceStore } from "../../store/resource_store.ts";

/** Commits changes; resolves when they are on disk and in the catalog. */
export type Commit = (changes: readonly ResourceChange[]) => Promise<void>;

/** Changes the resources of a daemon, one change after the other. */
export class ResourceWriter {
  readonly #store: ResourceStore;
  readonly #catalog: Catalog;
  readonly #keyring: Keyring;
  readonly #events: Events;
  #tail: Promise<unknown> = Promise.resolve();

  /** The writer keeps `catalog` equal to `store`, and publishes each change on `events`. */
  constructor(parts: { store: ResourceStore; catalog: Catalog; keyring: Keyring; events: Events }) {
    this.#store = parts.store;
    this.#catalog = parts.catalog;
    this.#keyring = parts.keyring;
    this.#events = parts.events;
  }

  /**
   * Runs `work` while no other change can happen, so what it has read is still true when it
   * commits.
   *
   * @throws {AppError} `conflict` when another daemon has changed the same resources meanwhile.
   */
  exclusively<T>(work: (commit: Commit) => Promise<T>): Promise<T> {
    return this.#inTurn(async () => {
      await this.#refresh();
      return await work((changes) => this.#commit(changes));
    });
  }

  get version(): number {
    return this.#catalog.storedVersion;
  }

  /** Reads what other daemons have changed; resolves when the catalog holds it. */
  refresh(): Promise<void> {
    return this.#inTurn(() => this.#refresh());
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(work);
    this.#tail = result.catch(() => {});
    return result;
  }

  async #refresh(): Promise<void> {
    const version = await this.#store.resourceVersion();
    if (version === this.#catalog.storedVersion) return;
    const resources = await loadResources(this.#store, this.#keyring);
    this.#catalog.change(this.#catalog.changesTo(resources), version);
    this.#events.publish("resourcesChanged", undefined);
    await this.#store.adoptResources(version);
  }

  #withTimes(change: ResourceChange): ResourceChange {
    if (change.op !== "put" || timedValues(change.resource) === undefined) return change;
    const { resource } = change;
    const before = this.#catalog.find(resource.kind, resource.project, resource.name);
    return {
      op: "put",
      resource: { ...resource, valuesChangedAt: timesOfValues(resource, before) },
    };
  }

  async #commit(given: readonly ResourceChange[]): Promise<void> {
    if (given.length === 0) return;
    const changes = given.map((change) => this.#withTimes(change));
    const sealed = await Promise.all(
      changes.map(async (change): Promise<ResourceChange> =>
        change.op === "put"
          ? { op: "put", resource: await mapSecrets(change.resource, this.#keyring.seal) }
          : change
      ),
    );
    const before = this.#catalog.storedVersion;
    const version = await this.#store.changeResources(sealed);
    if (version > before + 1) {
      await this.#refresh(); // with the changes of others
    } else {
      this.#catalog.change(changes, version);
      this.#events.publish("resourcesChanged", undefined);
    }
    await this.#store.awaitAdoption(version);
  }
}

/**
 * The values whose times of change are kept, by field: the data of a SecretStore, because a match
 * from before a change does not count for the new value, and `suspend` of a trigger. Other kinds
 * have none.
 */
function timedValues(resource: Resource): Readonly<Record<string, unknown>> | undefined {
  if (resource.kind === secretStore.kind) return (resource.spec as SecretStoreSpec).data;
  if (resource.kind === trigger.kind) {
    return (resource.spec as TriggerSpec).suspend === true ? { suspend: true } : {};
  }
  return undefined;
}

/** When each of its {@linkcode timedValues} was set. */
function timesOfValues(
  resource: Resource,
  before: Resource | undefined,
): NonNullable<Resource["valuesChangedAt"]> {
  const known = before?.valuesChangedAt ?? {};
  const earlier = before === undefined ? {} : timedValues(before) ?? {};
  const entries = Object.entries(timedValues(resource) ?? {}).flatMap(([key, value]) => {
    const times = Object.hasOwn(known, key) ? known[key] ?? [] : [];
    const isSame = Object.hasOwn(earlier, key) && earlier[key] === value;
    if (!isSame) return [[key, [resource.updatedAt, ...times.slice(0, 1)]] as const];
    return times.length === 0 ? [] : [[key, times] as const];
  });
  return Object.fromEntries(entries);
}

/**
 * Reads every resource and decrypts secret values; values in an earlier format are encrypted anew.
 *
 * @throws {AppError} `internal` when a value cannot be decrypted with this keyring.
 */
export async function loadCatalog(store: ResourceStore, keyring: Keyring): Promise<Catalog> {
  const version = await store.resourceVersion();
  const stored = await store.loadResources();
  const opened = await openAll(stored, keyring);
  const resources = opened.map((one, index) =>
    holdsUnbound(stored[index], keyring) ? { ...one, generation: one.generation + 1 } : one
  );
  const puts = await Promise.all(
    resources.filter((one, index) => one !== opened[index]).map(async (one) => ({
      op: "put" as const,
      resource: await mapSecrets(one, keyring.seal),
    })),
  );
  if (puts.length > 0) await store.changeResources(puts);
  await store.adoptResources(version);
  return new Catalog(resources, version);
}

async function loadResources(store: ResourceStore, keyring: Keyring): Promise<Resource[]> {
  return await openAll(await store.loadResources(), keyring);
}

function openAll(stored: readonly Resource[], keyring: Keyring): Promise<Resource[]> {
  return Promise.all(stored.map((one) => mapSecrets(one, keyring.open)));
}

/**
 * Whether any value of a SecretStore was encrypted by a version that did not bind it to its store
 * and key.
 */
function holdsUnbound(resource: Resource | undefined, keyring: Keyring): boolean {
  if (resource?.kind !== "SecretStore") return false;
  return Object.values((resource.spec as SecretStoreSpec).data).some(keyring.isUnbound);
}
