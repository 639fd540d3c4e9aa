/**
 * `svc db rekey` where daemons share a PostgreSQL: the database says which key counts, on every
 * machine.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { systemClock } from "../../src/base/clock.ts";
import { type DataDir, dataDirAt } from "../../src/base/data_dir.ts";
import { ResourceWriter } from "../../src/control/resources/resource_writer.ts";
import { initDataDir } from "../../src/init.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import type { Resource } from "../../src/resources/resource.ts";
import { readKeyFile } from "../../src/secrets/key_file.ts";
import { keyIdOf, newKeyFile } from "../../src/secrets/keyring.ts";
import { writeNextKey } from "../../src/secrets/next_key.ts";
import { opensAll, sealAnew } from "../../src/secrets/secret_stores.ts";
import { openSealed, settleKey } from "../../src/storage/sealed_storage.ts";
import { openStorage } from "../../src/storage/open_storage.ts";
import { EventHub } from "../../src/base/event_hub.ts";
import type { DaemonEvents } from "../../src/store/events.ts";
import type { Store } from "../../src/store/store.ts";
import { checkOwn } from "../../src/upkeep/check.ts";
import { ownRecord } from "../../src/upkeep/own_record.ts";
import { rekey } from "../../src/upkeep/rekey.ts";
import { Connections } from "../../src/store/postgres/database/connections.ts";
import { createEmptyDatabase, postgresTest, type TestDatabase } from "../helpers/postgres.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { afterEachChange } from "../helpers/each_change.ts";
import { filesIn, finish } from "../rigs/upkeep_rig.ts";

const env = () => undefined;
const host = { clock: systemClock, env };
const VALUE = "a secret of some length";

interface Nodes extends AsyncDisposable {
  readonly database: TestDatabase;
  readonly one: DataDir;
  readonly two: DataDir;
}

/** Two nodes that share a database with a SecretStore in it; none runs. */
async function nodes(): Promise<Nodes> {
  await using opening = new AsyncDisposableStack();
  const database = opening.use(await createEmptyDatabase());
  const temp = opening.use(await tempDir());
  const [one, two] = [dataDirAt(`${temp.path}/one`), dataDirAt(`${temp.path}/two`)];
  const shared = (name: string) => ({ shared: { url: database.url, name } });
  await initDataDir(one, { ...host, ...shared("one") });
  await initDataDir(two, { ...host, ...shared("two"), keyFile: one.secretKey });
  for (const dir of [two, one]) {
    await using opened = await open(dir);
    if (dir === one) await put(opened.store, dir, "github");
  }
  const open_ = opening.move();
  return { database, one, two, [Symbol.asyncDispose]: () => open_.disposeAsync() };
}

const open = (dir: DataDir) => openStorage(dir, { ...host, run: crypto.randomUUID() });

function secretStore(name: string): Resource {
  return {
    kind: "SecretStore",
    project: "default",
    name,
    metadata: {},
    spec: { data: { current: VALUE } },
    generation: 1,
    createdAt: 1,
    updatedAt: 1,
  };
}

/** Stores a SecretStore as a daemon does. */
async function put(store: Store, dir: DataDir, name: string): Promise<void> {
  const keyring = await readKeyFile(dir.secretKey);
  const catalog = new Catalog([], await store.resourceVersion());
  const events = new EventHub<DaemonEvents>({ error: () => {} });
  const writer = new ResourceWriter({ store, catalog, keyring, events });
  await writer.exclusively((commit) => commit([{ op: "put", resource: secretStore(name) }]));
}

async function opensEverything(dir: DataDir): Promise<void> {
  deepEqual((await finish(checkOwn({ env, alone: true }, dir))).result.faults, []);
  await using opened = await open(dir);
  const sealed = (await opened.store.loadResources()).filter(({ kind }) => kind === "SecretStore");
  equal(sealed.length, 1);
  ok(await opensAll(await readKeyFile(dir.secretKey), sealed));
}

const rekeyed = async (dirs: DataDir) =>
  (await finish(rekey({ dryRun: false }, { dirs, ...host }))).result;

postgresTest("rekey changes the key of the database, and the other nodes follow", async () => {
  await using shared = await nodes();
  const { one, two } = shared;
  const old = await Deno.readTextFile(one.secretKey);
  const { database, values, changed, otherNodes } = await rekeyed(one);
  match(database, /^PostgreSQL "svc_test_/);
  deepEqual([values, otherNodes], [1, ["two"]]);
  await opensEverything(one);
  {
    await using opened = await open(one);
    const [row] = await opened.store.listControl({ limit: 1 });
    deepEqual([row?.operation, row?.target], [
      "db.rekey",
      `key ${changed?.from} to ${changed?.to}`,
    ]);
  }
  await rejects(open(two), /sealed with key \w{16}, and .* is \w{16}: copy .*--key-file FILE"$/);
  await rejects(rekeyed(two), /sealed with key/);
  const { made } = await initDataDir(two, { ...host, keyFile: one.secretKey });
  equal(made.length, 2);
  match(made[0] ?? "", /secretstore\.key\.before-rekey-/);
  equal(await Deno.readTextFile(made[0] ?? ""), old);
  deepEqual((await initDataDir(two, { ...host, keyFile: one.secretKey })).made, []);
  await opensEverything(two);
  await rejects(
    initDataDir(two, { ...host, keyFile: changed?.kept ?? "" }),
    /sealed with key \w{16}, and the file is key/,
  );
});

postgresTest("rekey is refused while a daemon has a lease, and names it", async () => {
  await using shared = await nodes();
  const before = await Deno.readTextFile(shared.one.secretKey);
  await using _two = await open(shared.two);
  await rejects(
    rekeyed(shared.one),
    /Daemons run on the database, as node "two": stop all of them/,
  );
  equal(await Deno.readTextFile(shared.one.secretKey), before);
  deepEqual(filesIn(`${shared.one.root}/secrets`), ["secretstore.key"]);
});

postgresTest("a daemon that was silent while the key was changed stores nothing more", async () => {
  await using shared = await nodes();
  const { one, two, database } = shared;
  await using silent = await open(two);
  const owner = { node: "test", run: "test" };
  await using admin = new Connections({ url: database.url, owner, max: 1 });
  await admin.use((db) => db.exec("UPDATE nodes SET lease_until = '-infinity'"));
  await rekeyed(one);
  await rejects(put(silent.store, two, "later"), /sealed with key/);
  await opensEverything(one);
});

postgresTest("rekey that ends after any of its changes is finished or undone", async () => {
  await using shared = await nodes();
  const { one } = shared;
  let done = false;
  const seen = new Set<string>();
  for (let n = 1; !done; n++) {
    let changes = 0;
    const before = await Deno.readTextFile(one.secretKey);
    // every later change fails too, as those of a process that is no more
    await afterEachChange(
      () => ++changes >= n ? Promise.reject(new Error("killed")) : Promise.resolve(),
      () => rekeyed(one),
    ).then(() => done = true, () => {});
    await settleKey(one, host);
    seen.add(await Deno.readTextFile(one.secretKey) === before ? "old" : "new");
    deepEqual(filesIn(`${one.root}/secrets`).filter((name) => name.endsWith(".next")), []);
    await opensEverything(one);
  }
  deepEqual([...seen].toSorted(), ["new", "old"]);
});

postgresTest("what the database says decides between two keys, whatever was cut off", async () => {
  await using shared = await nodes();
  const { one } = shared;
  const lay = async () => {
    await writeNextKey(one.secretKey, newKeyFile());
    return await readKeyFile(`${one.secretKey}.next`);
  };
  await lay();
  equal(await settleKey(one, host), undefined);
  await opensEverything(one);

  const next = await lay();
  const present = await readKeyFile(one.secretKey);
  {
    await using sealed = await openSealed(one, await keyIdOf(present), host);
    const anew = await Promise.all(
      sealed.secretStores.map((store) => sealAnew(store, { from: present, to: next })),
    );
    await sealed.replace(anew, await keyIdOf(next), ownRecord("db.rekey", "", systemClock));
  }
  ok((await settleKey(one, host))?.kept !== undefined);
  await opensEverything(one);
});
