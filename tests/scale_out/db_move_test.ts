/**
 * `svc db move` from outside: what the lists of a daemon show is the same before and after, tasks that a
 * kill interrupted go on, and new events are accepted.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { initDataDirectory, startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { secretStore, trigger, workflow } from "../helpers/manifests.ts";
import { createEmptyDatabase, postgresTest } from "../helpers/postgres.ts";
import { runSvc, SOURCE } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";

const LISTS = [
  "tasks",
  "deliveries",
  "triggers",
  "workflows",
  "secretstores",
  "outbox",
  "source-events",
  "conversations",
  "audits",
  "waits",
  "tokens",
];

/** Lists as people get them, without the nodes, of which only PostgreSQL tells. */
async function lists(daemon: TestDaemon): Promise<unknown> {
  const all: unknown[] = [];
  for (const list of LISTS) all.push([list, await daemon.json("get", list)]);
  return JSON.parse(JSON.stringify(all, (name, value) => name === "node" ? undefined : value));
}

postgresTest("svc db move: a daemon shows the same on PostgreSQL, and goes on", async () => {
  await using database = await createEmptyDatabase();
  await using directory = await initDataDirectory(SOURCE);
  const move = (...args: string[]) =>
    runSvc(SOURCE, ["db", "move", "--to", database.url, "--data-dir", directory.path, ...args]);
  const flag = `${directory.path}/go`;
  let before: unknown;
  let interrupted: string;
  {
    await using daemon = await startDaemon(SOURCE, { directory });
    await daemon.apply(
      workflow("record", "echo done"),
      workflow("slow", `while ! [ -e ${flag} ]; do sleep 0.1; done`),
      secretStore("github", { webhook_secret: "a secret of 32 bytes, or so it is" }),
      trigger("now", { webhook: { allowUnsigned: true } }),
      trigger("later", { webhook: { allowUnsigned: true }, workflow: "slow" }),
    );
    for (let n = 0; n < 3; n++) await daemon.send("/webhook/now", { body: `{"n":${n}}` });
    await daemon.settled();
    const refused = await move();
    deepEqual([refused.code, refused.stdout], [1, ""]);
    match(refused.stderr, /Another daemon/);
    before = await lists(daemon);
    await daemon.send("/webhook/later", { body: "{}" });
    interrupted = await until(
      "the task that runs",
      async () => (await daemon.tasks()).find(({ state }) => state === "running")?.id,
    );
    await daemon.crash();
  }
  const looked = await move("--node", "one", "--dry-run");
  equal(looked.code, 0, looked.stderr);
  match(looked.stdout, /^It can be moved: \d+ rows \(4 deliveries, 4 tasks\)/);
  const moved = await move("--node", "one");
  equal(moved.code, 0, moved.stderr);
  match(moved.stdout, /4 tasks compared: the same in both\n/);
  match(moved.stderr, /^checking .*\nmoving \d+ rows to .*\nreading everything back\n$/);
  await Deno.writeTextFile(flag, "");
  await using daemon = await startDaemon(SOURCE, { directory });
  const tasks = await daemon.settled();
  equal(tasks.find(({ id }) => id === interrupted)?.state, "succeeded");
  const later = (name: string) => (row: Record<string, unknown>) => row["trigger"] === name;
  const withoutLater = (all: unknown) =>
    (all as [string, Record<string, unknown>[]][]).map(([list, rows]) => [
      list,
      rows.filter((row) => !later("later")(row)),
    ]);
  deepEqual(withoutLater(await lists(daemon)), withoutLater(before));
  const { status } = await daemon.send("/webhook/now", { body: '{"n":9}' });
  equal(status, 200);
  equal((await daemon.settled()).length, 5);
  const checked = await daemon.json("db", "check") as Record<string, unknown>;
  deepEqual(checked["faults"], []);
  const again = await move();
  match(again.stderr, /Another daemon/);
});
