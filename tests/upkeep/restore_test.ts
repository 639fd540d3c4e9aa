import {
  deepStrictEqual as deepEqual,
  match,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { lockDataDir } from "../../src/base/lock.ts";
import { newKeyFile } from "../../src/secrets/keyring.ts";
import { backUp } from "../../src/upkeep/back_up.ts";
import { check } from "../../src/upkeep/check.ts";
import { restore, type RestoreRequest } from "../../src/upkeep/restore.ts";
import { setClock } from "../helpers/manual_clock.ts";
import { rowsOf } from "../helpers/sqlite_file.ts";
import { accept, taskIdOf } from "../helpers/store_records.ts";
import { filesIn, finish, type UpkeepRig, upkeepRig } from "../rigs/upkeep_rig.ts";
import { NOT_SLOW } from "../helpers/program.ts";
import { skippable } from "../helpers/requirements.ts";

const NOW = Date.parse("2026-01-02T03:04:05.678Z");
const KEPT = "svc.db.before-restore-20260102T030405Z";

/** Takes a copy, and lets one more task come. */
async function copyThenChange(rig: UpkeepRig): Promise<string> {
  const file = join(rig.elsewhere, "copy.db");
  await finish(backUp({ file, force: false }, rig.dirs));
  await using store = await rig.open();
  await accept(store, 99);
  return file;
}

async function restored(rig: UpkeepRig, file: string, more: Partial<RestoreRequest> = {}) {
  const request = { file, cancelTasks: false, dropSecrets: false, revokeTokens: false, ...more };
  return (await finish(restore(request, { dirs: rig.dirs, clock: setClock(NOW) }))).result;
}

async function faultsOf(rig: UpkeepRig): Promise<readonly string[]> {
  const { result } = await finish(check({ file: rig.dirs.database, alone: true }, rig.dirs));
  return result.faults;
}

Deno.test("restore puts the copy in place, and keeps the earlier database whole", async () => {
  await using rig = await upkeepRig();
  const file = await copyThenChange(rig);
  const result = await restored(rig, file);
  equal(result.kept, join(rig.dirs.root, KEPT));
  deepEqual([result.openTasks, result.cancelled, result.dropped], [3, false, []]);
  deepEqual(filesIn(rig.dirs.root), ["svc.db", KEPT]);
  deepEqual(rig.tasksOf(rig.dirs.database), [0, 1, 2].map(taskIdOf));
  deepEqual(rig.tasksOf(result.kept ?? "").length, 4);
  deepEqual(await faultsOf(rig), []);
  equal(((await Deno.stat(rig.dirs.database)).mode ?? 0) & 0o777, 0o600);
  await using store = await rig.open();
  await accept(store, 100);
});

Deno.test(
  skippable(
    "restore folds in the log a crash has left, and does not leave it to the new database",
    NOT_SLOW,
  ),
  async () => {
    await using rig = await upkeepRig();
    const file = await copyThenChange(rig);
    const store = await rig.open();
    await accept(store, 100);
    // As a crash leaves it: the database, and the log with what is not in it yet.
    for (const name of ["svc.db", "svc.db-wal"]) {
      await Deno.copyFile(join(rig.dirs.root, name), join(rig.elsewhere, name));
    }
    await store[Symbol.asyncDispose]();
    for (const name of ["svc.db", "svc.db-wal"]) {
      await Deno.rename(join(rig.elsewhere, name), join(rig.dirs.root, name));
    }
    const { kept } = await restored(rig, file);
    equal(rig.tasksOf(kept ?? "").length, 5);
    equal(rig.tasksOf(rig.dirs.database).length, 3);
    deepEqual(await faultsOf(rig), []);
  },
);

Deno.test("restore moves a damaged database out of the way, together with its log", async () => {
  await using rig = await upkeepRig();
  const file = await copyThenChange(rig);
  await Deno.writeTextFile(rig.dirs.database, "damaged ".repeat(2000));
  await Deno.writeTextFile(`${rig.dirs.database}-wal`, "its log");
  const { kept } = await restored(rig, file);
  equal(await Deno.readTextFile(`${kept}-wal`), "its log");
  match(await Deno.readTextFile(kept ?? ""), /^damaged/);
  deepEqual(await faultsOf(rig), []);
});

Deno.test(skippable("restore works where there is no database", NOT_SLOW), async () => {
  await using rig = await upkeepRig();
  const file = await copyThenChange(rig);
  await Deno.remove(rig.dirs.database);
  equal((await restored(rig, file)).kept, undefined);
  deepEqual(await faultsOf(rig), []);
});

/** What must not be restored, and why. */
const REFUSED: readonly {
  readonly name: string;
  readonly spoil: (rig: UpkeepRig, file: string) => Promise<unknown> | void;
  readonly says: RegExp;
}[] = [
  {
    name: "a file that is no database",
    spoil: (_, file) => Deno.writeTextFile(file, "no database ".repeat(1000)),
    says: /cannot be restored/,
  },
  {
    name: "a damaged copy",
    spoil: async (_, file) => {
      const bytes = await Deno.readFile(file);
      await Deno.writeFile(file, bytes.fill(0xa5, bytes.length / 2));
    },
    says: /cannot be restored/,
  },
  {
    name: "a copy of a newer svc",
    spoil: (_, file) => {
      using db = new DatabaseSync(file);
      db.exec("PRAGMA user_version = 9999");
    },
    says: /cannot be restored/,
  },
  {
    name: "a copy whose secrets belong to another key",
    spoil: (rig) => Deno.writeTextFile(rig.dirs.secretKey, newKeyFile()),
    says: /another key, nothing was changed: put its key file.*--drop-secrets/,
  },
];

for (const { name, spoil, says } of REFUSED) {
  Deno.test(`restore refuses ${name} and changes nothing`, async () => {
    await using rig = await upkeepRig();
    const file = await copyThenChange(rig);
    await spoil(rig, file);
    const before = filesIn(rig.dirs.root);
    await rejects(restored(rig, file), { name: "AppError", code: "refused", message: says });
    deepEqual(filesIn(rig.dirs.root), before);
    equal(rig.tasksOf(rig.dirs.database).length, 4);
  });
}

Deno.test(
  skippable("restore is refused while a daemon holds the directory", NOT_SLOW),
  async () => {
    await using rig = await upkeepRig();
    const file = await copyThenChange(rig);
    using _daemon = await lockDataDir(rig.dirs, setClock());
    await rejects(restored(rig, file), /Another daemon/);
    equal(rig.tasksOf(rig.dirs.database).length, 4);
  },
);

Deno.test(
  skippable("restore leaves out SecretStores whose key is lost, if it is told to", NOT_SLOW),
  async () => {
    await using rig = await upkeepRig();
    const file = await copyThenChange(rig);
    await Deno.writeTextFile(rig.dirs.secretKey, newKeyFile());
    const { dropped } = await restored(rig, file, { dropSecrets: true });
    deepEqual(dropped, ["default/github"]);
    deepEqual(rowsOf(rig.dirs.database, "SELECT * FROM resources"), []);
    deepEqual(await faultsOf(rig), []);
  },
);

Deno.test("restore ends the tasks that were open in the copy, if it is told to", async () => {
  await using rig = await upkeepRig();
  {
    await using store = await rig.open();
    await store.claimTasks(1, 5);
    await store.saveStep(taskIdOf(0), {
      position: 0,
      id: "build",
      state: "running",
      reason: "",
      startedAt: 6,
      processGroup: 7,
    });
    const agents = [{ name: "claude", seats: 1 }];
    const asked = { taskId: taskIdOf(0), position: 0, project: "default", agents, now: 6 };
    await store.takeTurn(asked);
    await store.takeTurn({ ...asked, position: 1 });
    await store.claimTasks(1, 5);
    await store.finishTask({ taskId: taskIdOf(1), state: "succeeded", reason: "", now: 8 });
    await store.claimTasks(1, 5);
    const place = { taskId: taskIdOf(2), position: 0, round: 1, project: "default" };
    const parts = [{ kind: "time", dueAt: 1e12, isRelative: true }] as const;
    await store.openWait({ ...place, parts, now: 8 });
    await store.parkTask(taskIdOf(2), { steps: [], until: 1e12, waits: [0], now: 8 });
  }
  const file = await copyThenChange(rig);
  const result = await restored(rig, file, { cancelTasks: true });
  deepEqual([result.openTasks, result.cancelled], [2, true]);
  const columns = "state, reason, finished_at AS at";
  const why = "cancelled when a backup was restored";
  deepEqual(
    rowsOf(rig.dirs.database, `SELECT ${columns} FROM tasks ORDER BY id`).map((row) => ({
      ...row,
    })),
    [
      { state: "cancelled", reason: why, at: NOW },
      { state: "succeeded", reason: "", at: 8 },
      { state: "cancelled", reason: why, at: NOW },
    ],
  );
  deepEqual(
    rowsOf(rig.dirs.database, `SELECT ${columns}, process_group AS g FROM steps`)
      .map((row) => ({ ...row })),
    [{ state: "cancelled", reason: why, at: NOW, g: null }],
  );
  deepEqual(
    rowsOf(rig.dirs.database, "SELECT state, over_at FROM waits").map((row) => ({ ...row })),
    [
      { state: "over", over_at: NOW },
    ],
  );
  deepEqual(await faultsOf(rig), []);
});
