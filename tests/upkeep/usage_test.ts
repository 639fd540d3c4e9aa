/**
 * `svc db usage`: what takes the disk, in the database by trigger and in the data directory.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { join } from "node:path";
import { createDatabase } from "../../src/store/sqlite/create_database.ts";
import { measureUsage, type Usage } from "../../src/upkeep/usage.ts";
import { run } from "../helpers/program.ts";
import { finish, type UpkeepRig, upkeepRig } from "../rigs/upkeep_rig.ts";

const env = () => undefined;

async function usageOf({ dirs }: UpkeepRig, alone = true): Promise<Usage> {
  return (await finish(measureUsage({ alone, env }, dirs))).result;
}

/** SQL for this many tasks and deliveries of a trigger, whose bodies have these bytes. */
function records(trigger: string, count: number, bytes: number): string {
  const numbers = `WITH RECURSIVE numbers (n) AS
    (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})`;
  const id = `'01${trigger.slice(0, 1).toUpperCase()}' || printf('%023d', n)`;
  return `INSERT INTO deliveries (id, project, "trigger", source, received_at, outcome, reason,
      status, remote, secret_store, secret_key, task_id, body_bytes, duration_ms, detail, headers, body)
    ${numbers} SELECT ${id}, 'default', '${trigger}', 'webhook', 1, 'accepted', '', 200, '', '', '',
      ${id}, ${bytes}, 1, '{}', '[]', zeroblob(${bytes}) FROM numbers;
    INSERT INTO tasks (id, project, "trigger", workflow, workspace, state, reason, delivery_id,
      payload, created_at, finished_at)
    ${numbers} SELECT ${id}, 'default', '${trigger}', 'w', 'w', 'succeeded', '', ${id},
      zeroblob(10), 1, 2 FROM numbers;
    INSERT INTO steps (task_id, position, id, state, reason, outputs)
    ${numbers} SELECT ${id}, 0, 's', 'succeeded', '', '{"ä":"${"x".repeat(11)}"}' FROM numbers;`;
}

Deno.test("usage counts each record of each trigger once, over many slices", async () => {
  await using rig = await upkeepRig(0);
  rig.change(records("busy", 4500, 100) + records("quiet", 3, 50_000));
  const { triggers, bytes } = await usageOf(rig);
  deepEqual(triggers.toSorted((a, b) => b.tasks - a.tasks), [
    {
      project: "default",
      trigger: "busy",
      deliveries: 4500,
      bodyBytes: 450_000,
      deliveryBytes: 4500 * 4,
      tasks: 4500,
      taskBytes: 4500 * (10 + 1 + 20),
      logBytes: 0,
      eventBytes: 0,
    },
    {
      project: "default",
      trigger: "quiet",
      deliveries: 3,
      bodyBytes: 150_000,
      deliveryBytes: 12,
      tasks: 3,
      taskBytes: 3 * 31,
      logBytes: 0,
      eventBytes: 0,
    },
  ]);
  ok(bytes > 600_000);
});

Deno.test("unused is the space that a vacuum frees, which an old database cannot", async () => {
  await using rig = await upkeepRig(0);
  const emptied = `${records("busy", 9, 50_000)} DELETE FROM deliveries;`;
  rig.change(emptied);
  ok((await usageOf(rig)).unusedBytes > 400_000);
  rig.change("DELETE FROM tasks; DELETE FROM steps; PRAGMA auto_vacuum = NONE; VACUUM;");
  rig.change(emptied);
  equal((await usageOf(rig)).unusedBytes, 0);
});

Deno.test("usage names the files of the data directory, as du counts them", async () => {
  await using rig = await upkeepRig(0);
  const { root, logs, worktrees, copies, workspaces } = rig.dirs;
  rig.change(records("busy", 2, 10));
  for (const path of [logs, worktrees, copies, workspaces, join(worktrees, "TASK/deep")]) {
    await Deno.mkdir(path, { recursive: true });
  }
  await Deno.writeTextFile(join(logs, `01B${"2".padStart(23, "0")}.jsonl`), "x".repeat(70_000));
  await Deno.writeTextFile(join(logs, "of-nobody.jsonl"), "x".repeat(9000));
  await Deno.writeTextFile(join(worktrees, "TASK/deep/file"), "x".repeat(5000));
  await Deno.link(join(worktrees, "TASK/deep/file"), join(worktrees, "TASK/deep/again"));
  await Deno.symlink("/usr", join(worktrees, "TASK/elsewhere"));
  const kept = { repository: "/srv/repo/.git", refs: ["refs/svc/tasks/A", "refs/heads/svc/a"] };
  await Deno.writeTextFile(join(worktrees, "TASK.kept"), JSON.stringify(kept));
  await Deno.writeTextFile(join(worktrees, "OTHER.kept"), "torn");
  await createDatabase(join(root, "copy.db"), []);
  await createDatabase(join(root, "svc.db.before-restore-20260102T030405Z"), []);
  await Deno.writeTextFile(join(root, "daemon.yaml"), "x".repeat(100));

  const usage = await usageOf(rig);
  const du = async (path: string) =>
    Number((await run("du", ["-s", "--block-size=1", path])).stdout.split("\t")[0]);
  const entries = new Map(usage.entries.map((entry) => [entry.name, entry]));
  for (const name of ["logs/", "worktrees/", "copies/", "workspaces/"]) {
    equal(entries.get(name)?.bytes, await du(join(root, name)), name);
  }
  equal(entries.get("worktrees/")?.files, 5);
  deepEqual(entries.get("copy.db")?.kind, "backup");
  deepEqual(entries.get("svc.db.before-restore-20260102T030405Z")?.kind, "old_database");
  deepEqual(entries.get("other")?.files, 2, "settings and the key; the lock is not made here");
  equal(usage.triggers[0]?.logBytes, await du(join(logs, `01B${"2".padStart(23, "0")}.jsonl`)));
  deepEqual(usage.keptCommits, [{ repository: "/srv/repo/.git", refs: 2 }]);
  const sum = usage.entries.reduce((all, { bytes }) => all + bytes, 0);
  equal(usage.totalBytes, sum + usage.bytes + usage.walBytes);
  ok((usage.diskFreeBytes ?? 0) > 0);
});

Deno.test("usage counts the log of the database, and reads beside a daemon", async () => {
  await using rig = await upkeepRig(0);
  await using store = await rig.open();
  rig.change(records("busy", 3000, 1000));
  const usage = await usageOf(rig, false);
  equal(usage.walBytes, (await Deno.stat(`${rig.dirs.database}-wal`)).size);
  ok(usage.walBytes > 1_000_000);
  equal((await store.databaseSize()).bytes, usage.bytes);
  equal(usage.triggers[0]?.deliveries, 3000);
});

Deno.test("usage that is ended early ends its thread; a file that is none is said", async () => {
  await using rig = await upkeepRig(0);
  rig.change(records("busy", 9000, 10));
  const stop = new AbortController();
  const work = measureUsage({ alone: true, env }, rig.dirs, stop.signal);
  const { value } = await work.next();
  ok(value !== undefined && "fraction" in value && value.fraction < 0.8);
  stop.abort();
  await rejects(Array.fromAsync(work), /stopped before it was done/);
  await Deno.writeTextFile(rig.dirs.database, "no database ".repeat(1000));
  await rejects(usageOf(rig), { code: "overloaded" });
});
