/**
 * Logs of tasks where several daemons share a database: each reads all of them, and only the one
 * that runs a task writes its log.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects, strictEqual as equal } from "node:assert/strict";
import { concatBytes, utf8 } from "../../../src/base/bytes.ts";
import { systemClock } from "../../../src/base/clock.ts";
import type { StoredLog } from "../../../src/store/log_store.ts";
import { Connections } from "../../../src/store/postgres/database/connections.ts";
import type { Store } from "../../../src/store/store.ts";
import { addBlocks } from "../../../src/store/postgres/logs/log_rows.ts";
import { accept, taskIdOf } from "../../helpers/store_records.ts";
import { until } from "../../helpers/until.ts";
import { addTo, WRITING } from "../../rigs/each_log.ts";
import { twoDaemonsTest } from "../../rigs/two_daemons.ts";

const TASK = taskIdOf(1);

/** Stores task `n` and claims it. */
async function run(store: Store, n = 1): Promise<void> {
  await accept(store, n);
  const { tasks } = await store.claimTasks(1, systemClock.now());
  deepEqual(tasks.map(({ task }) => task.id), [taskIdOf(n)]);
}

const WAITING = `SELECT 1 AS found FROM pg_stat_activity
  WHERE query = ? AND wait_event_type = 'Lock' AND datname = current_database()`;

async function textOf(log: StoredLog): Promise<string> {
  using open = await log.open();
  return new TextDecoder().decode(await open?.read(0, open.size));
}

/** As a former run of daemon `b` takes over what daemon `a` runs. */
const TAKE_OVER = "UPDATE tasks SET node = 'b', run = 'b0', epoch = epoch + 1";

twoDaemonsTest("a log that one daemon writes is read by another", async ({ a, b }) => {
  await run(a);
  await using writer = a.logs.of(TASK).write(WRITING);
  equal(await b.logs.of(TASK).open(), undefined);
  await writer.append(utf8("one\n"));
  await until("the first line", async () => await textOf(b.logs.of(TASK)) || undefined);
  await writer.append(utf8("two\n"));
  await writer[Symbol.asyncDispose]();
  equal(await textOf(b.logs.of(TASK)), "one\ntwo\n");
});

twoDaemonsTest("only the daemon that runs a task writes its log", async ({ a, b, sql }) => {
  await run(a);
  const late = a.logs.of(TASK).write(WRITING);
  await late.append(utf8("before\n"));
  await until("the line", async () => await textOf(b.logs.of(TASK)) || undefined);
  await addTo(b.logs.of(TASK), utf8("not mine\n"));
  await sql((db) => db.run(TAKE_OVER));
  equal((await b.claimInterrupted()).length, 1);
  await late.append(utf8("late\n"));
  await late[Symbol.asyncDispose]();
  await rejects(late.append(utf8("later\n")), { code: "conflict" });
  await addTo(b.logs.of(TASK), utf8("after\n"));
  equal(await textOf(a.logs.of(TASK)), "before\nafter\n");
  await sql((db) => db.run("UPDATE tasks SET state = 'succeeded'"));
  await addTo(b.logs.of(TASK), utf8("ended\n"));
  equal(await textOf(a.logs.of(TASK)), "before\nafter\n");
});

twoDaemonsTest(
  "a run of before writes nothing, also where the same daemon goes on",
  async ({ a, b }) => {
    await run(a);
    const late = a.logs.of(TASK).write(WRITING);
    await a.requeueTask(TASK, { now: 5 });
    const { tasks } = await a.claimTasks(1, systemClock.now());
    equal(tasks.length, 1);
    await late.append(utf8("late\n"));
    await late[Symbol.asyncDispose]();
    await addTo(a.logs.of(TASK), utf8("now\n"));
    equal(await textOf(b.logs.of(TASK)), "now\n");
  },
);

twoDaemonsTest("a takeover waits for a block that is under way", async ({ url, sql, a, b }) => {
  await run(a);
  await using other = new Connections({ url, owner: { node: "b", run: "b1" }, max: 2 });
  let taking = Promise.resolve(0);
  await sql(async (db) => {
    await db.exec("SELECT set_config('svc.node', 'a', true), set_config('svc.run', 'a1', true)");
    const blocks = [{ position: 0, bytes: utf8("before\n") }];
    deepEqual(await addBlocks(db, [{ taskId: TASK, epoch: 1, blocks }]), [true]);
    taking = other.use((db) => db.run(TAKE_OVER));
    // From outside of the transaction, which would see the same again and again.
    await until("a takeover that waits", () => other.use((db) => db.get(WAITING, TAKE_OVER)));
  });
  equal(await taking, 1);
  equal(await textOf(b.logs.of(TASK)), "before\n");
});

twoDaemonsTest("a block whose answer was lost is there once", async ({ sql, a, b }) => {
  await run(a);
  const add = (position: number, text: string) =>
    sql(async (db) => {
      await db.exec("SELECT set_config('svc.node', 'a', true), set_config('svc.run', 'a1', true)");
      const blocks = [{ position, bytes: utf8(text) }];
      return await addBlocks(db, [{ taskId: TASK, epoch: 1, blocks }]);
    });
  for (const _ of [1, 2]) deepEqual(await add(0, "one\n"), [true]);
  deepEqual(await add(4, "two\n"), [true]);
  equal(await textOf(b.logs.of(TASK)), "one\ntwo\n");
});

twoDaemonsTest(
  "output printed while connections break is stored once, in its order",
  async ({ a, b, sql }) => {
    await run(a);
    const lines = Array.from({ length: 300 }, (_, n) => `${n} ${"x".repeat(2000)}\n`);
    const printed = new AbortController();
    const breaking = (async () => {
      while (!printed.signal.aborted) {
        await sql((db) =>
          db.all(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND query LIKE '%task_logs%' AND pid <> pg_backend_pid()`)
        );
        await systemClock.pause(150, printed.signal);
      }
    })();
    {
      await using writer = a.logs.of(TASK).write(WRITING);
      for (const line of lines) {
        await writer.append(utf8(line));
        await systemClock.pause(3);
      }
      printed.abort();
      await breaking;
    }
    equal(await textOf(b.logs.of(TASK)), lines.join(""));
  },
);

twoDaemonsTest("many tasks print at once, each into its own log", async ({ a, b }) => {
  const ids = Array.from({ length: 40 }, (_, n) => taskIdOf(n));
  for (const [n] of ids.entries()) await accept(a, n);
  equal((await a.claimTasks(40, systemClock.now())).tasks.length, 40);
  const printedBy = (id: string, n: number) => `${id} ${n} ${id.repeat(n % 300)}\n`;
  await Promise.all(ids.map(async (id) => {
    await using writer = a.logs.of(id).write(WRITING);
    for (let n = 0; n < 100; n++) await writer.append(utf8(printedBy(id, n)));
  }));
  for (const id of ids) {
    const expected = Array.from({ length: 100 }, (_, n) => printedBy(id, n)).join("");
    equal(await textOf(b.logs.of(id)), expected);
  }
});

twoDaemonsTest("any part of a log can be read, whatever was read before", async ({ a, b }) => {
  await run(a);
  const lines = Array.from({ length: 400 }, (_, n) => utf8(`${n} ${"y".repeat(n * 7 % 3000)}\n`));
  for (let n = 0; n < 400; n += 20) {
    await addTo(a.logs.of(TASK), concatBytes(...lines.slice(n, n + 20)));
  }
  const all = concatBytes(...lines);
  using open = await b.logs.of(TASK).open();
  equal(open?.size, all.length);
  for (let n = 0; n < 300; n++) {
    const start = n * 104_729 % all.length;
    const end = start + n * 7919 % 90_000;
    deepEqual(await open?.read(start, end), all.subarray(start, end));
  }
});

twoDaemonsTest("a log goes with its task", async ({ a, b, sql }) => {
  for (const n of [1, 2]) {
    await run(a, n);
    await addTo(a.logs.of(taskIdOf(n)), utf8("one\n"));
  }
  await sql((db) =>
    db.run("UPDATE tasks SET state = 'failed', finished_at = 1 WHERE id = ?", taskIdOf(1))
  );
  const removed = await b.pruneTasks({ before: 2, limit: 10 });
  equal(removed.length, 1);
  equal(await b.logs.of(taskIdOf(1)).open(), undefined);
  equal(await textOf(b.logs.of(taskIdOf(2))), "one\n");
});
