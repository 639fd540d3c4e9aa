/**
 * `svc db move`: what becomes of open tasks, waits, the audit, long bodies and logs, what `--keep` leaves
 * behind, and that the database takes new records as if it had never been a file.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { sha256Hex } from "../../src/base/bytes.ts";
import type { Store } from "../../src/store/store.ts";
import { encodeChunk } from "../../src/tasks/log/log_format.ts";
import { postgresTest } from "../helpers/postgres.ts";
import { readLog } from "../helpers/read_log.ts";
import { accept, idOf, step, taskIdOf } from "../helpers/store_records.ts";
import { moveRig } from "../rigs/move_rig.ts";
import { ownRecord } from "../../src/upkeep/own_record.ts";
import { range } from "../store/contract/each_store.ts";

const DAY = 86_400_000;
const LATER = Date.now() + 30 * DAY;

/** A plan whose files stay where it ran. */
const OWN_FILES = {
  hash: "h2",
  json: JSON.stringify({
    steps: [{ id: "build" }],
    workspace: { path: "work", isolation: "worktree", nodes: ["gpu", "one"] },
  }),
};

/** Waits of every kind, and an answer; none of them is due. */
async function waitForAll(store: Store): Promise<void> {
  const key = { trigger: "github", shape: "s", digest: "d" };
  const parts = [
    [{ kind: "time", dueAt: LATER, isRelative: true }],
    [{ kind: "event", dueAt: LATER, isRelative: false, key, asked: { trigger: "github" } }],
    [{ kind: "message", dueAt: LATER, isRelative: false }, {
      kind: "time",
      dueAt: LATER,
      isRelative: false,
    }],
    [{ kind: "approval", dueAt: LATER, isRelative: false, asked: { ask: "go?" }, shown: "diff" }],
    [{ kind: "task", dueAt: LATER, isRelative: false }],
  ] as const;
  for (const [at, some] of parts.entries()) {
    const n = 11 + at;
    await accept(store, n, at === 1 ? { plan: OWN_FILES } : {});
    await store.claimTasks(1, Date.now());
    await store.openWait({
      taskId: taskIdOf(n),
      position: 0,
      round: 1,
      project: "default",
      parts: some,
      now: Date.now(),
    });
    await store.parkTask(taskIdOf(n), {
      steps: [],
      until: LATER,
      now: Date.now(),
      waits: [0],
      hasOwnFiles: true,
      activeMs: 7,
    });
  }
}

async function waits(store: Store): Promise<unknown> {
  const found = { trigger: "github", shape: "s", digest: "d" };
  return [
    await store.listWaits({ limit: 99 }),
    await store.listApprovals({ limit: 99 }),
    await store.findApproval({ taskId: taskIdOf(14), position: 0 }),
    await store.countWaits(),
    await store.listWaitShapes("default", found.trigger),
    await store.listWaitedTriggers(0),
  ];
}

postgresTest(
  "tasks go on after a move, and new records get ids and positions of their own",
  async () => {
    await using rig = await moveRig(0);
    let held: unknown;
    {
      await using store = await rig.open();
      await waitForAll(store);
      for (const n of [1, 2]) await accept(store, n, { plan: OWN_FILES });
      await store.claimTasks(2, Date.now());
      await store.saveStep(taskIdOf(1), step(0, "running"));
      for (const n of [3, 4]) await accept(store, n);
      for (const n of range(1, 4)) {
        await store.recordControl({
          ...ownRecord("apply", `workflow/${n}`, systemClock),
          id: `C${n}`,
        });
      }
      await store.startAudit({
        id: "A1",
        createdAt: Date.now(),
        action: "execute",
        crdKind: "Trigger",
        pluginName: "p",
        command: "true",
        pluginType: "cron",
        phase: "run",
        trigger: "github",
        deliveryId: "",
        role: "admin",
        policyMode: "off",
      });
      held = await waits(store);
    }
    await rig.move();
    await using store = await rig.openMoved();
    deepEqual(await waits(store), held);
    deepEqual(await store.verifyAudit(), { rows: 1, faults: [] });
    const gone = await store.claimInterrupted();
    deepEqual(gone.map(({ task }) => task.id), [taskIdOf(1), taskIdOf(2)]);
    const [node] = await store.listNodes();
    equal(node?.name, "one");
    const claimed = await store.claimTasks(9, Date.now());
    deepEqual(claimed.tasks.map(({ task }) => task.id), [taskIdOf(3), taskIdOf(4)]);
    const stays = await rig.inTarget((db) =>
      db.all("SELECT id FROM svc.tasks WHERE stays_on_node = 1 ORDER BY id")
    );
    deepEqual(stays.map(({ id }) => id), [1, 2, 12].map(taskIdOf));

    for (const n of range(100, 200)) await accept(store, n);
    for (const n of range(4, 20)) {
      await store.recordControl({
        ...ownRecord("apply", `workflow/${n}`, systemClock),
        id: `C${n}`,
      });
    }
    await store.finishAudit("A1", {
      result: "ok",
      finishedAt: Date.now(),
      exitCode: 0,
      durationMs: 1,
      stderr: "",
    });
    deepEqual(await store.verifyAudit(), { rows: 1, faults: [] });
    const positions = await rig.inTarget((db) =>
      db.all("SELECT id, position FROM svc.control_audit ORDER BY position")
    );
    equal(new Set(positions.map(({ position }) => position)).size, positions.length);
    const ids = positions.map(({ id }) => String(id)).filter((id) => id.startsWith("C"));
    deepEqual(ids, range(1, 20).map((n) => `C${n}`));
    equal((await store.claimTasks(999, Date.now())).tasks.length, 100);
  },
  { isLong: false },
);

postgresTest("long bodies and logs move whole, and a log up to the limit of a step", async () => {
  await using rig = await moveRig(3);
  const body = crypto.getRandomValues(new Uint8Array(65536));
  const large = new Uint8Array(25 * 1024 * 1024).map((_, at) => body[at % 65536]! ^ (at >> 16));
  {
    await using store = await rig.open();
    await accept(store, 50, { body: large });
  }
  const line = (step: string, text: string) => {
    const bytes = new TextEncoder().encode(text);
    return encodeChunk({ at: 5, step, stream: "out", bytes });
  };
  const logOf = (n: number) => join(rig.dirs.logs, `${taskIdOf(n)}.jsonl`);
  const torn = `${line("build", "a\n".repeat(100_000))}${line("build", "b").slice(0, -3)}`;
  await Deno.writeTextFile(logOf(0), torn);
  const part = "x".repeat(1024 * 1024);
  await Deno.writeTextFile(
    logOf(1),
    [...range(0, 10).map(() => line("build", part)), line("deploy", "done\n")].join(""),
  );
  await Deno.writeTextFile(join(rig.dirs.logs, "01HZZZZZZZZZZZZZZZZZ999999.jsonl"), "gone\n");
  const moved = await rig.move();
  deepEqual([moved.logs.logs, moved.logs.cut], [2, [taskIdOf(1)]]);
  await using store = await rig.openMoved();
  const stored = await store.readDelivery(idOf(50));
  equal(sha256Hex(stored?.content?.body ?? new Uint8Array()), sha256Hex(large));
  const whole = await readLog(store.logs.of(taskIdOf(0)), 0);
  equal(whole.chunks.map(({ bytes }) => bytes.length).join(), "200000");
  const cut: { step: string; stream: string; bytes: Uint8Array }[] = [];
  for (let at = 0;;) {
    const { chunks, next } = await readLog(store.logs.of(taskIdOf(1)), at);
    cut.push(...chunks);
    if (next === at) break;
    at = next;
  }
  const bytesOf = (step: string, stream: string) =>
    cut.filter((one) => one.step === step && one.stream === stream);
  equal(bytesOf("build", "out").reduce((sum, one) => sum + one.bytes.length, 0), 8 * 1024 * 1024);
  match(new TextDecoder().decode(bytesOf("build", "svc")[0]?.bytes), /left in the file/);
  equal(bytesOf("deploy", "out").length, 1);
});

postgresTest(
  "with --keep, open tasks and young records move, with all that they need",
  async () => {
    await using rig = await moveRig(0);
    const now = Date.now();
    {
      await using store = await rig.open();
      // old and over, old and open, young and over
      for (const n of [1, 2, 3]) {
        await accept(store, n, { receivedAt: n < 3 ? now - 60 * DAY : now });
      }
      await store.claimTasks(3, now);
      for (const [n, finishedAt] of [[1, now - 50 * DAY], [3, now]] as const) {
        await store.finishTask({
          taskId: taskIdOf(n),
          now: finishedAt,
          state: "succeeded",
          reason: "",
        });
      }
    }
    rig.change("DELETE FROM task_ends");
    await rig.move({ keepMs: 30 * DAY });
    await using store = await rig.openMoved();
    deepEqual((await store.listTasks({ limit: 9 })).map(({ id }) => id), [3, 2].map(taskIdOf));
    deepEqual((await store.listDeliveries({ limit: 9 })).map(({ id }) => id), [3, 2].map(idOf));
    const keys = await rig.inTarget((db) =>
      db.all("SELECT task_id FROM svc.dedup_keys ORDER BY 1")
    );
    equal(keys.some(({ task_id: id }) => id === taskIdOf(1)), false);
  },
  { isLong: false },
);
