/**
 * Two daemons over one store: each sees what the other has changed before it changes something
 * itself, and hears of it when it asks.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { EventHub } from "../../src/base/event_hub.ts";
import { loadCatalog, ResourceWriter } from "../../src/control/resources/resource_writer.ts";
import { keyOf, type Resource } from "../../src/resources/resource.ts";
import { createKeyring, newKeyFile } from "../../src/secrets/keyring.ts";
import type { DaemonEvents } from "../../src/store/events.ts";
import type { ResourceStore } from "../../src/store/resource_store.ts";

/** A store in memory, as several daemons see it. */
function sharedStore(): ResourceStore {
  const stored = new Map<string, Resource>();
  let version = 0;
  return {
    loadResources: () => Promise.resolve([...stored.values()]),
    resourceVersion: () => Promise.resolve(version),
    adoptResources: () => Promise.resolve(),
    awaitAdoption: () => Promise.resolve(),
    changeResources(changes) {
      for (const change of changes) {
        if (change.op === "put") stored.set(keyOf(change.resource), change.resource);
        else stored.delete(keyOf(change.key));
      }
      return Promise.resolve(++version);
    },
  };
}

async function openDaemon(
  store: ResourceStore,
  keyring: Awaited<ReturnType<typeof createKeyring>>,
) {
  const events = new EventHub<DaemonEvents>({ error: () => {} });
  const catalog = await loadCatalog(store, keyring);
  let changes = 0;
  events.on("resourcesChanged", () => changes++);
  return {
    catalog,
    writer: new ResourceWriter({ store, catalog, keyring, events }),
    changes: () => changes,
  };
}

function secret(value: string, generation = 1): Resource {
  return {
    kind: "SecretStore",
    project: "default",
    name: "github",
    metadata: {},
    spec: { data: { token: value } },
    generation,
    createdAt: 1,
    updatedAt: generation,
  };
}

const valueIn = (catalog: { find: (...key: [string, string, string]) => Resource | undefined }) =>
  (catalog.find("SecretStore", "default", "github")?.spec as { data?: { token?: string } })?.data
    ?.token;

Deno.test("a change of one daemon is at the other once that is told to read", async () => {
  const store = sharedStore();
  const keyring = await createKeyring(newKeyFile());
  const [one, two] = [await openDaemon(store, keyring), await openDaemon(store, keyring)];
  await one.writer.exclusively((commit) => commit([{ op: "put", resource: secret("a") }]));
  equal(valueIn(two.catalog), undefined);
  await two.writer.refresh();
  deepEqual([valueIn(two.catalog), two.changes()], ["a", 1]);
  await two.writer.refresh();
  equal(two.changes(), 1, "nothing has changed since");
  await two.writer.exclusively((commit) => commit([{ op: "delete", key: secret("a") }]));
  await one.writer.refresh();
  equal(valueIn(one.catalog), undefined);
  equal(one.catalog.storedVersion, two.catalog.storedVersion);
});

Deno.test("a change is decided on what the other daemon has changed before", async () => {
  const store = sharedStore();
  const keyring = await createKeyring(newKeyFile());
  const [one, two] = [await openDaemon(store, keyring), await openDaemon(store, keyring)];
  await one.writer.exclusively((commit) => commit([{ op: "put", resource: secret("a") }]));
  const seen = await two.writer.exclusively(async (commit) => {
    const before = valueIn(two.catalog);
    await commit([{ op: "put", resource: secret("b", 2) }]);
    return before;
  });
  equal(seen, "a");
  await one.writer.refresh();
  equal(valueIn(one.catalog), "b");
});

Deno.test("a change that comes together with that of another daemon takes it in", async () => {
  const store = sharedStore();
  const keyring = await createKeyring(newKeyFile());
  const [one, two] = [await openDaemon(store, keyring), await openDaemon(store, keyring)];
  const other = { ...secret("x"), name: "other" };
  await two.writer.exclusively(async (commit) => {
    await one.writer.exclusively((its) => its([{ op: "put", resource: secret("a") }]));
    await commit([{ op: "put", resource: other }]);
  });
  deepEqual([valueIn(two.catalog), two.catalog.list("SecretStore").length], ["a", 2]);
});
