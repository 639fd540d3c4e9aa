/**
 * A database of an older version: opened, it is brought up to date with all that is in it.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { createHash } from "node:crypto";
import { Database } from "../../../src/store/sqlite/engine/database.ts";
import { checkDatabase } from "../../../src/store/sqlite/engine/check_version.ts";
import { migrate, SCHEMA_VERSION } from "../../../src/store/sqlite/engine/migrations.ts";
import { openStore } from "../../../src/store/sqlite/open_store.ts";
import { rowsOf } from "../../helpers/sqlite_file.ts";
import { accept, idOf, PLAN, taskIdOf } from "../../helpers/store_records.ts";
import { tempDir } from "../../helpers/temp_dir.ts";
import { tempStore } from "../../helpers/temp_store.ts";
import { limitProject } from "../contract/limited_projects.ts";

const SCHEMA_1 = new URL("../../fixtures/schema_1.sql", import.meta.url);

/** Changes a database past the store. */
function change(path: string, statements: readonly string[]): void {
  const db = new DatabaseSync(path);
  try {
    for (const sql of statements) db.exec(sql);
  } finally {
    db.close();
  }
}

/** Makes a database of schema 1 with a task in every state. */
function makeOldDatabase(path: string): void {
  const db = new DatabaseSync(path);
  try {
    db.exec(Deno.readTextFileSync(SCHEMA_1));
    db.exec("PRAGMA user_version = 1; PRAGMA journal_mode = WAL;");
    db.prepare("INSERT INTO plans VALUES (?, ?)").run(PLAN.hash, PLAN.json);
    const states = ["succeeded", "failed", "running", "pending", "pending"];
    for (const [n, state] of states.entries()) {
      const over = n < 2;
      db.prepare(
        `INSERT INTO deliveries VALUES (?, 'default', 'push', 'webhook', ?, 'accepted', '', 200,
           '192.0.2.1', 'github', 'current', ?, 7, 3, '{"headerNames":[],"stages":{}}', '{"a":"b"}', ?)`,
      ).run(idOf(n), n, taskIdOf(n), new TextEncoder().encode(`{"n":${n}}`));
      db.prepare(
        `INSERT INTO tasks VALUES (?, 'default', 'push', 'ci', 'repo', ?, '', ?, ?, NULL, ?, ?, ?, 1)`,
      ).run(taskIdOf(n), state, idOf(n), PLAN.hash, n, n < 3 ? n : null, over ? 50 : null);
    }
    db.prepare("INSERT INTO steps VALUES (?, 0, 'build', 'succeeded', 0, '', 1, 2, 4711)")
      .run(taskIdOf(2));
    db.exec(
      `INSERT INTO tasks VALUES ('${taskIdOf(9)}', 'default', 'push', 'ci', 'repo', 'failed',
         'missing', '${idOf(0)}', NULL, NULL, 9, NULL, 9, 0)`,
    );
  } finally {
    db.close();
  }
}

Deno.test("a database of schema 1 opens with its tasks, which run on", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/svc.db`;
  makeOldDatabase(path);
  checkDatabase(path);
  await using store = await openStore(path);
  equal(Number(rowsOf(path, "PRAGMA user_version")[0]?.["user_version"]), SCHEMA_VERSION);
  deepEqual((await store.listTasks({ limit: 99 })).map(({ id, state }) => [id, state]), [
    [taskIdOf(9), "failed"],
    [taskIdOf(4), "pending"],
    [taskIdOf(3), "pending"],
    [taskIdOf(2), "running"],
    [taskIdOf(1), "failed"],
    [taskIdOf(0), "succeeded"],
  ]);
  const [interrupted] = await store.claimInterrupted();
  deepEqual(interrupted?.task, {
    id: taskIdOf(2),
    project: "default",
    trigger: "push",
    workflow: "ci",
    workspace: "repo",
    state: "running",
    reason: "",
    deliveryId: idOf(2),
    createdAt: 2,
    startedAt: 2,
    restarts: 2,
    parentId: "",
    rootId: "",
    retryOf: "",
    depth: 0,
    directory: "",
    cancelReason: "",
    activeMs: 0,
    steps: [
      {
        position: 0,
        id: "build",
        state: "succeeded",
        reason: "",
        exitCode: 0,
        startedAt: 1,
        finishedAt: 2,
        processGroup: 4711,
      },
      { position: 1, id: "deploy", state: "pending", reason: "" },
    ],
  });
  equal((await store.counts()).oldestPendingAt, 3, "since it was made, as far as anybody knows");
  await store.requeueTask(taskIdOf(2), { now: 5 });
  await accept(store, 5, { task: { concurrency: { policy: "Queue", key: "", max: 1 } } });
  const { tasks } = await store.claimTasks(9, 60);
  deepEqual(tasks.map(({ task }) => task.id), [2, 3, 4, 5].map(taskIdOf));
  equal(new TextDecoder().decode(tasks[1]?.payload), '{"n":3}');
  equal(
    await store.finishTask({ taskId: taskIdOf(2), state: "failed", reason: "", now: 70 }),
    true,
  );
});

Deno.test("the tasks of an upgraded database are retried and removed like others", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/svc.db`;
  makeOldDatabase(path);
  await using store = await openStore(path);
  await store.retryTask({
    by: { called: "ada" },
    id: taskIdOf(20),
    of: taskIdOf(0),
    kept: [],
    keepDirectory: false,
    staysOnNode: false,
    now: 5,
  });
  const gone = await store.pruneTasks({ before: 100, keep: 99, limit: 99 });
  deepEqual(gone.map(({ id }) => id), [9, 0, 1].map(taskIdOf));
  equal(
    await store.pruneDeliveries({ before: 100, limit: 99 }),
    1,
    "0 has the retried task's payload",
  );
  deepEqual(rowsOf(path, "SELECT hash, tasks FROM plan_uses").map((row) => Object.values(row)), [
    [PLAN.hash, 4],
  ]);
});

Deno.test("an upgraded database says of old deliveries how they came in", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/svc.db`;
  makeOldDatabase(path);
  change(path, [
    `UPDATE deliveries SET status = 0, source = 'cron' WHERE id = '${idOf(0)}'`,
    `UPDATE deliveries SET source = 'slack' WHERE id = '${idOf(1)}'`,
    `UPDATE deliveries SET source = 'slack', status = 401 WHERE id = '${idOf(2)}'`,
  ]);
  await using store = await openStore(path);
  deepEqual((await store.listDeliveries({ limit: 9 })).map(({ via }) => via), [
    "http",
    "http",
    "chat",
    "chat",
    "internal",
  ]);
  deepEqual((await store.readDelivery(idOf(3)))?.content, {
    headers: { a: "b" },
    body: new TextEncoder().encode('{"n":3}'),
    url: "",
  });
});

Deno.test("tasks, audit rows and events that an older version had claimed are taken over", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/svc.db`;
  makeOldDatabase(path);
  {
    using db = new Database(path);
    migrate(db, 3);
  }
  const covered = ["A1", "1970-01-01T00:00:01.000Z", "execute", "Hook", "check", "x.sh"];
  const more = ["interceptor", "p", "t", "d", "system", "allowlist"];
  const hash = createHash("sha256").update(JSON.stringify(["", "start", ...covered, ...more]));
  const quoted = (values: readonly string[]) => values.map((value) => `'${value}'`).join(", ");
  change(path, [
    `INSERT INTO plugin_audit (id, created_at, action, crd_kind, plugin_name, command, plugin_type,
       phase, "trigger", delivery_id, role, policy_mode, result, stderr)
     VALUES (${quoted([...covered, ...more, "running", ""])})`,
    `INSERT INTO plugin_audit_chain (audit_id, link, hash)
     VALUES ('A1', 'start', '${hash.digest("hex")}')`,
    `INSERT INTO source_events (id, project, "trigger", provider, installation_id,
       external_event_id, delivery_id, kind, actor, conversation_id, thread_id, post_id, top_level,
       text, occurred_at, received_at, state, reason, queued_at, due_at, claimed_at)
     VALUES (${quoted(["E1", "p", "t", "slack", "i", "x", "d", "message", "u", "c", "h", "o"])},
       1, '', 1, 1, 'routing', '', 1, 0, 5)`,
  ]);
  await using store = await openStore(path);
  deepEqual((await store.claimInterrupted()).map(({ task }) => task.id), [taskIdOf(2)]);
  deepEqual((await store.claimInterruptedAudits()).map(({ id }) => id), ["A1"]);
  deepEqual(await store.verifyAudit(), { rows: 1, faults: [] });
  const { events } = await store.claimSourceEvents({
    limit: 9,
    now: 6,
    staleMs: 300_000,
    routing: [],
  });
  deepEqual(events.map(({ event }) => event.id), ["E1"]);
});

Deno.test("a task of an upgraded database is parked, and goes on at its time", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/svc.db`;
  makeOldDatabase(path);
  await using store = await openStore(path);
  const [interrupted] = await store.claimInterrupted();
  const taskId = interrupted?.task.id ?? "";
  equal(interrupted?.task.steps[0]?.session, undefined);
  const agents = [{ name: "claude", seats: 1 }];
  const asked = { taskId, position: 1, project: "default", agents, session: "s", now: 50 };
  equal((await store.takeTurn(asked)).is, "held");
  await store.endTurn(taskId, 5);
  await store.parkTask(taskId, { steps: [], until: 90, now: 60 });
  deepEqual((await store.claimTasks(9, 70)).tasks.map(({ task }) => task.id), [3, 4].map(taskIdOf));
  deepEqual((await store.claimTasks(9, 90)).tasks.map(({ task }) => task.id), [taskId]);
});

Deno.test("a task that was parked before an upgrade waits, with its room", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/svc.db`;
  const old = new Database(path);
  migrate(old, 15); // as of the version before
  old.run("INSERT INTO plans VALUES (?, ?)", PLAN.hash, PLAN.json);
  old.run("INSERT INTO plan_uses VALUES (?, 2)", PLAN.hash);
  for (const [n, started, readiness] of [[1, 5, -1], [2, null, 1]] as const) {
    old.run(
      `INSERT INTO tasks (id, project, "trigger", workflow, workspace, state, reason, delivery_id,
         plan_hash, created_at, started_at, readiness, run_at, workspace_max)
       VALUES (?, 'default', 'push', 'ci', 'repo', 'pending', '', '', ?, ?, ?, ?, 90, 1)`,
      taskIdOf(n),
      PLAN.hash,
      n,
      started,
      readiness,
    );
  }
  old[Symbol.dispose]();
  await using store = await openStore(path);
  const states = (await store.listTasks({ limit: 9 })).map(({ state }) => state);
  deepEqual(states, ["pending", "waiting"]);
  deepEqual((await store.claimTasks(9, 70)).tasks, []);
  deepEqual((await store.claimTasks(9, 90)).tasks.map(({ task }) => task.id), [taskIdOf(1)]);
});

Deno.test("a wait that was open before an upgrade is the first of its step", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/svc.db`;
  const old = new Database(path);
  migrate(old, 16); // as of the version before
  old.run("INSERT INTO plans VALUES (?, ?)", PLAN.hash, PLAN.json);
  old.run("INSERT INTO plan_uses VALUES (?, 1)", PLAN.hash);
  const taskId = taskIdOf(1);
  old.run(
    `INSERT INTO tasks (id, project, "trigger", workflow, workspace, state, reason, delivery_id,
       plan_hash, created_at, started_at, run_at)
     VALUES (?, 'default', 'push', 'ci', 'repo', 'waiting', '', '', ?, 1, 5, 90)`,
    taskId,
    PLAN.hash,
  );
  old.run(
    "INSERT INTO waits VALUES (?, 0, 'default', 'time', 'open', 90, 1, 5, NULL, NULL)",
    taskId,
  );
  old[Symbol.dispose]();
  await using store = await openStore(path);
  const parts = [{ kind: "time", dueAt: 200, isRelative: true }] as const;
  const place = { taskId, position: 0, round: 1, project: "default" };
  deepEqual(await store.openWait({ ...place, parts, now: 60 }), {
    ...place,
    parts: [{ kind: "time", dueAt: 90, isRelative: true }],
    openedAt: 5,
  });
  deepEqual(await store.listWaitedTriggers(0), [], "it waits for no event");
  await store.addToInbox(taskId, { text: "read by nobody" }, 61);
  const message = [{ kind: "message", dueAt: 200, isRelative: true }] as const;
  const next = { ...place, position: 1, parts: message, now: 62 };
  deepEqual((await store.openWait(next)).parts[0]?.asked, { from: 0 });
});

Deno.test("a turn that was held before an upgrade is held, and no budget counts it", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/svc.db`;
  const old = new Database(path);
  migrate(old, 16); // as of the version before
  const taskId = taskIdOf(1);
  old.run("INSERT INTO plans VALUES (?, ?)", PLAN.hash, PLAN.json);
  old.run(
    `INSERT INTO tasks (id, project, "trigger", workflow, workspace, state, reason, delivery_id,
       plan_hash, created_at, started_at) VALUES (?, 'default', 'push', 'ci', 'repo', 'running', '', '', ?, 1, 5)`,
    taskId,
    PLAN.hash,
  );
  old.run("INSERT INTO turns VALUES (?, 0, 'default', 'claude', NULL, 1, 'held', 1)", taskId);
  old[Symbol.dispose]();
  await using store = await openStore(path);
  const asked = { taskId, position: 0, project: "default", agents: [{ name: "claude" }], now: 9 };
  deepEqual(await store.takeTurn(asked), { is: "held", agent: "claude" });
  deepEqual(await store.listBudgetUse("default"), []);
});

Deno.test("a limit of a project holds for what was ready and ran before an upgrade", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/svc.db`;
  const old = new Database(path);
  migrate(old, 17); // as of the version before
  old.run("INSERT INTO plans VALUES (?, ?)", PLAN.hash, PLAN.json);
  old.run("INSERT INTO plan_uses VALUES (?, 3)", PLAN.hash);
  for (const [n, state] of ["running", "pending", "pending"].entries()) {
    old.run(
      `INSERT INTO tasks (id, project, "trigger", workflow, workspace, state, reason, delivery_id,
         plan_hash, created_at, priority) VALUES (?, 'shop', 'push', 'ci', 'repo', ?, '', '', ?, 1, ?)`,
      taskIdOf(n),
      state,
      PLAN.hash,
      n === 2 ? -1 : 0,
    );
  }
  old[Symbol.dispose]();
  await using store = await openStore(path);
  await limitProject(store, "shop", 1);
  deepEqual((await store.claimInterrupted()).map(({ task }) => task.id), [taskIdOf(0)]);
  deepEqual((await store.claimTasks(9, 1)).tasks, []);
  await store.finishTask({ taskId: taskIdOf(0), state: "succeeded", reason: "", now: 1 });
  deepEqual((await store.claimTasks(9, 1)).tasks.map(({ task }) => task.id), [taskIdOf(2)]);
});

Deno.test("a task of before an upgrade may have children after it", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/svc.db`;
  const old = new Database(path);
  migrate(old, 17); // as of the version before
  const taskId = taskIdOf(1);
  old.run("INSERT INTO plans VALUES (?, ?)", PLAN.hash, PLAN.json);
  old.run("INSERT INTO plan_uses VALUES (?, 1)", PLAN.hash);
  old.run(
    `INSERT INTO tasks (id, project, "trigger", workflow, workspace, state, reason, delivery_id,
       plan_hash, created_at, started_at) VALUES (?, 'default', 'push', 'ci', 'repo', 'running', '', '', ?, 1, 5)`,
    taskId,
    PLAN.hash,
  );
  old[Symbol.dispose]();
  await using store = await openStore(path);
  equal((await store.findTasks(taskId))[0]?.rootId, "");
  const parts = [{ kind: "task", dueAt: 99, isRelative: true }] as const;
  const wait = { taskId, position: 0, round: 1, project: "default", parts, now: 6 };
  const names = { project: "default", trigger: "push", workflow: "build", workspace: "repo" };
  const task = { ...names, id: taskIdOf(2), plan: PLAN };
  const asked = {
    wait,
    children: [{ item: 0, task, inputs: {} }],
    isShared: false,
    sharedAbove: [],
  };
  deepEqual((await store.startChildren(asked)).made, [taskIdOf(2)]);
  equal((await store.findTasks(taskIdOf(2)))[0]?.rootId, taskId);
});

Deno.test("a child of before an upgrade keeps what it was given", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/svc.db`;
  const old = new Database(path);
  migrate(old, 18); // as of the version before
  const plans = [{ ...JSON.parse(PLAN.json), inputs: { a: 'é"\0' } }, JSON.parse(PLAN.json)];
  for (const [index, plan] of plans.entries()) {
    old.run("INSERT INTO plans VALUES (?, ?)", `h${index}`, JSON.stringify(plan));
    old.run("INSERT INTO plan_uses VALUES (?, 1)", `h${index}`);
    old.run(
      `INSERT INTO tasks (id, project, "trigger", workflow, workspace, state, reason, delivery_id,
         plan_hash, payload, created_at)
       VALUES (?, 'default', 'push', 'ci', 'repo', 'pending', '', '', ?, ?, 1)`,
      taskIdOf(index + 1),
      `h${index}`,
      new TextEncoder().encode("{}"),
    );
  }
  old[Symbol.dispose]();
  await using store = await openStore(path);
  const { tasks } = await store.claimTasks(9, 5);
  deepEqual(tasks.map(({ inputs }) => inputs), [{ a: 'é"\0' }, {}]);
});

Deno.test("what an ended task was told before an upgrade starts no follow-up", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/svc.db`;
  const old = new Database(path);
  migrate(old, 17); // as of the version before
  old.run("INSERT INTO plans VALUES (?, ?)", PLAN.hash, PLAN.json);
  old.run("INSERT INTO plan_uses VALUES (?, 2)", PLAN.hash);
  for (const [n, state, end] of [[1, "succeeded", 9], [2, "running", null]] as const) {
    old.run(
      `INSERT INTO tasks (id, project, "trigger", workflow, workspace, state, reason, delivery_id,
         plan_hash, created_at, started_at, finished_at)
       VALUES (?, 'default', 'push', 'ci', 'repo', ?, '', '', ?, 1, 5, ?)`,
      taskIdOf(n),
      state,
      PLAN.hash,
      end,
    );
    for (const at of [0, 1]) {
      old.run('INSERT INTO inbox VALUES (?, ?, \'{"a":"é"}\', 1)', taskIdOf(n), at);
    }
  }
  old[Symbol.dispose]();
  await using store = await openStore(path);
  const unread = async (n: number) => (await store.findTasks(taskIdOf(n)))[0]?.unread;
  deepEqual([await unread(1), await unread(2)], [undefined, 2]);
  equal((await store.addToInbox(taskIdOf(2), {}, 1))?.position, 2);
  const [ended, running] = rowsOf(path, "SELECT messages, message_bytes FROM tasks ORDER BY id");
  deepEqual([ended?.["messages"], ended?.["message_bytes"]], [2, 20]);
  deepEqual([running?.["messages"], running?.["message_bytes"]], [3, 22]);
});

Deno.test("an upgraded database has the schema of a new one", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/old.db`;
  makeOldDatabase(path);
  await (await openStore(path))[Symbol.asyncDispose]();
  await using fresh = await tempStore();
  const schema = (file: string) =>
    rowsOf(file, "SELECT type, name, sql FROM sqlite_schema ORDER BY name, type")
      .map((row) => Object.values(row).map((text) => String(text).replaceAll(/\s+/g, " ")));
  deepEqual(schema(path), schema(fresh.path));
});

Deno.test("a token of an older version is no gateway", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/svc.db`;
  makeOldDatabase(path);
  {
    using db = new Database(path);
    migrate(db, 18);
  }
  change(path, [
    `INSERT INTO control_tokens (id, hash, name, role, created_at, expires_at, person)
     VALUES ('01J', 'h', 'laptop', 'operator', 1, 9, 'ada')`,
  ]);
  await using store = await openStore(path);
  const token = { id: "01J", name: "laptop", role: "operator", person: "ada" } as const;
  deepEqual(await store.listTokens(), [{ ...token, createdAt: 1, expiresAt: 9 }]);
});
