/**
 * The database file: what becomes of it when the store closes, when it is not what it should be,
 * and when somebody else holds it.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  ok,
  rejects,
  strictEqual as equal,
  throws,
} from "node:assert/strict";
import { hash } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { createDatabase } from "../../../src/store/sqlite/create_database.ts";
import { checkDatabase } from "../../../src/store/sqlite/engine/check_version.ts";
import { SCHEMA_VERSION } from "../../../src/store/sqlite/engine/migrations.ts";
import { openStore } from "../../../src/store/sqlite/open_store.ts";
import { lockDatabase, rowsOf } from "../../helpers/sqlite_file.ts";
import { accept, idOf, taskIdOf } from "../../helpers/store_records.ts";
import { tempDir } from "../../helpers/temp_dir.ts";
import { tempStore } from "../../helpers/temp_store.ts";
import { within } from "../../helpers/within.ts";
import { NOT_SLOW } from "../../helpers/program.ts";
import { skippable } from "../../helpers/requirements.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** Every file of a directory, with its size and the digest of its content. */
function snapshot(dir: string): Record<string, string> {
  const names = [...Deno.readDirSync(dir)].map(({ name }) => name).toSorted();
  return Object.fromEntries(names.map((name) => {
    const bytes = Deno.readFileSync(`${dir}/${name}`);
    return [name, `${bytes.length} bytes, ${hash("sha256", bytes)}`];
  }));
}

Deno.test("a closed store leaves one file, which passes the check", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/svc.db`;
  const store = await openStore(path);
  for (const n of [1, 2, 3]) await accept(store, n);
  await store[Symbol.asyncDispose]();
  deepEqual(Object.keys(snapshot(dir.path)), ["svc.db"]);
  checkDatabase(path);
});

Deno.test("a write that a store answered is on disk, even if the store is never closed", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/svc.db`;
  const program = `
    const { openStore } = await import(${JSON.stringify(`${ROOT}src/store/sqlite/open_store.ts`)});
    const { accept } = await import(${JSON.stringify(`${ROOT}tests/helpers/store_records.ts`)});
    const store = await openStore(${JSON.stringify(path)});
    for (let n = 0; n < 10; n++) await accept(store, n);
    Deno.kill(Deno.pid, "SIGKILL");`;
  const { signal } = await deno(program).output();
  equal(signal, "SIGKILL");
  await using store = await openStore(path);
  deepEqual(
    (await store.listDeliveries({ limit: 99 })).map(({ id }) => id),
    [9, 8, 7, 6, 5, 4, 3, 2, 1, 0].map(idOf),
  );
});

Deno.test("under the daemon's umask every file of the database is for its owner alone", async () => {
  await using dir = await tempDir();
  const program = `
    Deno.umask(0o077);
    const { createDatabase } = await import(${
    JSON.stringify(`${ROOT}src/store/sqlite/create_database.ts`)
  });
    const { openStore } = await import(${JSON.stringify(`${ROOT}src/store/sqlite/open_store.ts`)});
    await createDatabase("svc.db", []);
    await using store = await openStore(Deno.realPathSync("svc.db"));
    await store.loadResources();
    for (const { name } of [...Deno.readDirSync(".")].toSorted((a, b) => a.name < b.name ? -1 : 1)) {
      console.log(name, (Deno.statSync(name).mode & 0o777).toString(8));
    }`;
  const { stdout, stderr } = await deno(program, { cwd: dir.path }).output();
  equal(
    new TextDecoder().decode(stdout),
    "svc.db 600\nsvc.db-shm 600\nsvc.db-wal 600\n",
    new TextDecoder().decode(stderr),
  );
});

Deno.test("init makes a database once, and leaves an existing one as it is", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/svc.db`;
  const workspace = {
    kind: "Workspace",
    project: "default",
    name: "default",
    metadata: {},
    spec: { path: "w" },
    generation: 1,
    createdAt: 1,
    updatedAt: 1,
  };
  equal(await createDatabase(path, [workspace]), true);
  const made = snapshot(dir.path);
  deepEqual(Object.keys(made), ["svc.db"]);
  equal(await createDatabase(path, [{ ...workspace, name: "another" }]), false);
  deepEqual(snapshot(dir.path), made);
  await using store = await openStore(path);
  deepEqual(await store.loadResources(), [workspace]);
});

Deno.test("init completes an earlier init that was killed half-way", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/svc.db`;
  const db = new DatabaseSync(path);
  db.exec("PRAGMA journal_mode = WAL");
  db.close();
  ok((await Deno.stat(path)).size > 0);
  await createDatabase(path, []);
  checkDatabase(path);
});

/** A sound database, closed. */
async function soundDatabase(dir: string): Promise<Uint8Array> {
  const path = `${dir}/sound.db`;
  const store = await openStore(path);
  for (let n = 0; n < 200; n++) await accept(store, n);
  await store[Symbol.asyncDispose]();
  const bytes = await Deno.readFile(path);
  await Deno.remove(path);
  return bytes;
}

/** Size of a page of a database that is made here. */
const PAGE_BYTES = 8192;

function overwritten(bytes: Uint8Array, from: number, to: number): Uint8Array {
  return new Uint8Array(bytes).fill(0xa5, from, to);
}

const UNUSABLE: Readonly<Record<string, (sound: Uint8Array) => Uint8Array>> = {
  "an empty file": () => new Uint8Array(),
  "a text": () => new TextEncoder().encode("kind: Trigger\n".repeat(1000)),
  "a database without its header": (sound) => overwritten(sound, 0, 100),
  "a database whose schema is overwritten": (sound) => overwritten(sound, 100, PAGE_BYTES),
  "a database cut short": (sound) => sound.subarray(0, 1.5 * PAGE_BYTES),
};

for (const [what, make] of Object.entries(UNUSABLE)) {
  Deno.test(`${what} is refused with the remedy, and stays untouched`, async () => {
    await using dir = await tempDir();
    const path = `${dir.path}/svc.db`;
    await Deno.writeFile(path, make(await soundDatabase(dir.path)));
    const before = snapshot(dir.path);
    throws(() => checkDatabase(path), { code: "refused", message: /restore it|svc init/ });
    deepEqual(snapshot(dir.path), before);
  });
}

Deno.test("a database that is not there is refused, and not made", async () => {
  await using dir = await tempDir();
  throws(() => checkDatabase(`${dir.path}/svc.db`), { code: "refused", message: /svc init/ });
  deepEqual(snapshot(dir.path), {});
});

Deno.test("a database of a newer svc is refused, by init as well, and stays untouched", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/svc.db`;
  await Deno.writeFile(path, await soundDatabase(dir.path));
  const db = new DatabaseSync(path);
  db.exec(`PRAGMA user_version = ${SCHEMA_VERSION + 1}`);
  db.close();
  const before = snapshot(dir.path);
  const refusal = { code: "refused", message: /newer svc .*install that version/ };
  throws(() => checkDatabase(path), refusal);
  await rejects(createDatabase(path, []), refusal);
  deepEqual(snapshot(dir.path), before);
});

Deno.test("a sound database that was not closed passes the check, and nothing is lost by it", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/svc.db`;
  {
    await using temp = await tempStore();
    await accept(temp.store, 1);
    for (const end of ["", "-wal"]) await Deno.copyFile(`${temp.path}${end}`, `${path}${end}`);
  }
  checkDatabase(path);
  await using store = await openStore(path);
  deepEqual((await store.listTasks({ limit: 9 })).map(({ id }) => id), [taskIdOf(1)]);
});

Deno.test("a malformed table is no fault of a call, and the store goes on with the rest", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/svc.db`;
  const sound = await soundDatabase(dir.path);
  await Deno.writeFile(path, sound);
  const [root] = rowsOf(path, "SELECT rootpage FROM sqlite_schema WHERE name = 'tasks'");
  const page = Number(root?.["rootpage"]);
  await Deno.writeFile(path, overwritten(sound, (page - 1) * PAGE_BYTES, page * PAGE_BYTES));
  await using store = await openStore(path);
  await rejects(store.listTasks({ limit: 999 }), {
    code: "overloaded",
    message: /cannot be read now.*svc db check/,
  });
  equal((await store.listDeliveries({ limit: 999 })).length, 200);
  await rejects(accept(store, 500), { code: "overloaded" });
  await Promise.all([
    rejects(accept(store, 501), { code: "overloaded" }),
    store.recordKeyUse([]),
  ]); // in one batch
  equal((await store.listDeliveries({ limit: 999 })).length, 200, "nothing of it was stored");
});

Deno.test(
  skippable(
    "calls are refused as overload while another process holds the database, all within one wait",
    NOT_SLOW,
  ),
  async () => {
    await using temp = await tempStore();
    const { store, path } = temp;
    await accept(store, 0);
    const lock = lockDatabase(path);
    const calls = Promise.allSettled(Array.from({ length: 6 }, (_, n) => accept(store, n + 1)));
    try {
      const results = await within(12_000, calls);
      const codes = results.map((one) => one.status === "rejected" ? one.reason.code : one.status);
      deepEqual(codes, new Array(6).fill("overloaded"));
    } finally {
      lock[Symbol.dispose]();
    }
    await accept(store, 9);
    deepEqual((await store.listTasks({ limit: 9 })).map(({ id }) => id), [9, 0].map(taskIdOf));
  },
);

Deno.test(
  skippable(
    "a call that comes while others wait for the database hears as soon as they do that it failed",
    NOT_SLOW,
  ),
  async () => {
    await using temp = await tempStore();
    const { store, path } = temp;
    using _lock = lockDatabase(path);
    const start = performance.now();
    const took = () => performance.now() - start;
    const first = accept(store, 1).then(() => 0, took);
    await new Promise((resolve) => setTimeout(resolve, 200)); // handed over by now
    const second = rejects(accept(store, 2), { code: "overloaded" }).then(took);
    const [firstMs, secondMs] = await Promise.all([first, second]);
    // The running calls fail, and then the calls made meanwhile: two waits, of any length.
    ok(secondMs < 3 * firstMs, `${firstMs.toFixed(0)} ms, and then ${secondMs.toFixed(0)} ms`);
  },
);

Deno.test("reading goes on while another process holds the database", async () => {
  await using temp = await tempStore();
  const { store, path } = temp;
  await accept(store, 1);
  using _lock = lockDatabase(path);
  equal((await within(2000, store.listTasks({ limit: 9 }))).length, 1);
});

Deno.test("the database of a directory that cannot be written is refused as such", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/svc.db`;
  await createDatabase(path, []);
  const before = snapshot(dir.path);
  await Deno.chmod(path, 0o400);
  await Deno.chmod(dir.path, 0o500);
  const program = `
    const { openStore } = await import(${JSON.stringify(`${ROOT}src/store/sqlite/open_store.ts`)});
    try {
      await using store = await openStore(${JSON.stringify(path)});
      console.log("opened");
    } catch (error) {
      console.log(error.code, error.message);
    }
    Deno.exit(0);`;
  const { stdout } = await deno(program, { powerless: true }).output();
  match(new TextDecoder().decode(stdout), /^overloaded .*cannot be written/);
  await Deno.chmod(dir.path, 0o700);
  deepEqual(snapshot(dir.path), before);
});

Deno.test("a directory that is not there is refused", async () => {
  await using dir = await tempDir();
  await rejects(within(5000, openStore(`${dir.path}/none/svc.db`)), { code: "overloaded" });
});

/** Runs a program in a Deno of its own; a powerless one has no more rights than any user. */
function deno(
  program: string,
  options: { cwd?: string; powerless?: boolean } = {},
): Deno.Command {
  const args = ["eval", "--config", `${ROOT}deno.json`, "--unstable-worker-options", program];
  const env = { NO_COLOR: "1" };
  const cwd = options.cwd ?? ROOT;
  if (options.powerless !== true || Deno.uid() !== 0) {
    return new Deno.Command(Deno.execPath(), { args, cwd, env });
  }
  // To root, file modes mean nothing while it has its capabilities.
  const drop = ["--inh-caps=-all", "--bounding-set=-all", Deno.execPath()];
  return new Deno.Command("setpriv", { args: [...drop, ...args], cwd, env });
}
