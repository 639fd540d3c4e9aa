/**
 * Recovery and queues (contract 7), once, on the compiled program where there is one: the daemon is
 * killed again and again while tasks run, and a long queue is drained. What steps write into a ledger
 * of their own is held against the records, as the soak does it.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { residentMb } from "../bench/machine.ts";
import { median } from "../bench/stats.ts";
import { initDataDirectory, startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { trigger, workflow } from "../helpers/manifests.ts";
import { ONE_PROGRAM } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { findFile, until } from "../helpers/until.ts";
import { Journal } from "../soak/journal.ts";
import { readLedger } from "../soak/ledger.ts";
import { Lives } from "../soak/lives.ts";
import { readRecords } from "../soak/records.ts";
import { makeSite, manifestsOf } from "../soak/site.ts";
import {
  judgeFiles,
  judgeProcesses,
  judgePromises,
  judgeSteps,
  judgeTasks,
} from "../soak/verdict.ts";
import { World } from "../soak/world.ts";

const CONTEXT = `(${ONE_PROGRAM.name})`;
const KILLS = 20;
/** Side by side, with retries and \`finally\`; in groups; with forks, deaf to TERM, in time trouble. */
const WORKFLOWS = ["wide", "wide", "wide", "queue", "replace", "hard", "late", "sleeps", "tree"];
/** After how long a life ends, in turn: before, in, and between the steps of what runs. */
const LIVES_MS = [150, 900, 400, 1500, 250, 650];

Deno.test(`${KILLS} kill -9 of the daemon while tasks run: each ends once, no step meets its twin, nothing is left ${CONTEXT}`, async () => {
  await using base = await tempDir();
  await using directory = await initDataDirectory(ONE_PROGRAM);
  const [site, journal] = [await makeSite(base.path, directory), new Journal()];
  const args = ["--workers", "8", "--log-format", "json"];
  await using lives = new Lives({ program: ONE_PROGRAM, site, journal, args });
  const world = new World({ site, lives, journal, stop: new AbortController().signal });
  await lives.start();
  await (await lives.now()).apply(...manifestsOf(site));
  for (let round = 0; round < KILLS; round++) {
    const shots = WORKFLOWS.map((trigger, n) =>
      world.shoot({ trigger, body: JSON.stringify({ round, n, key: "red" }) }, ["200 accepted"])
    );
    await Promise.all(shots);
    await new Promise((resolve) => setTimeout(resolve, LIVES_MS[round % LIVES_MS.length]));
    await lives.replace("KILL");
  }
  const daemon = await lives.now();
  await daemon.settled(120_000);
  await judgeProcesses(directory.path, journal);
  const records = readRecords(directory.path);
  const lines = await readLedger(`${base.path}/ledger`);
  await judgeFiles(records, directory.path, journal);
  judgePromises(records, journal);
  judgeTasks(records, journal);
  judgeSteps(records, lines, { deaths: lives.deaths, journal });
  equal((await daemon.svc(["db", "check"])).code, 0);
  await lives.end("TERM");
  await judgeProcesses(directory.path, journal);

  deepEqual([journal.faults, journal.moreFaults], [[], 0]);
  equal(journal.promised.length, KILLS * WORKFLOWS.length);
  const tasks = [...records.tasks.values()];
  const interrupted = tasks.filter(({ restarts }) => restarts > 0);
  ok(interrupted.length >= KILLS, `only ${interrupted.length} tasks were interrupted`);
  ok(tasks.some(({ restarts, state }) => restarts > 0 && state === "succeeded"));
});

const TASKS = 10_000;
const AT_ONCE = 32;
const WORKERS = 8;

/** Sends this many requests; gives the ids of the tasks. */
async function queue(daemon: TestDaemon, path: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  let next = 0;
  const send = async () => {
    while (next < count) {
      const { status, json } = await daemon.send(path, { body: JSON.stringify({ n: next++ }) });
      deepEqual([status, json["status"]], [200, "accepted"]);
      ids.push(String(json["task_id"]));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, send));
  return ids;
}

/** How many tasks wait or run. */
async function open(daemon: TestDaemon): Promise<number> {
  const { counts } = await daemon.json("status") as { counts: Record<string, number> };
  return (counts["tasks_pending"] ?? 0) + (counts["tasks_running"] ?? 0);
}

Deno.test(`${TASKS} queued tasks drain: none is lost, none runs twice, memory stays flat, get task is quick ${CONTEXT}`, async () => {
  await using directory = await initDataDirectory(ONE_PROGRAM);
  const args = ["--workers", String(WORKERS), "--log-level", "warn", "--keep-tasks", "0"];
  await using daemon = await startDaemon(ONE_PROGRAM, { directory, args });
  const webhook = { allowUnsigned: true };
  await daemon.apply(
    workflow("gate", "while [ ! -e go ]; do sleep 0.05; done"),
    workflow("record", 'echo "$SVC_TASK_ID" >>ran'),
    trigger("gate", { webhook, workflow: "gate" }),
    trigger("run", { webhook }),
  );
  await queue(daemon, "/webhook/gate", WORKERS);
  const ids = await queue(daemon, "/webhook/run", TASKS);
  equal(await open(daemon), TASKS + WORKERS, "nothing has run yet");

  await Deno.writeTextFile(`${daemon.workspace}/go`, "");
  const [waits, memory]: [number[], number[]] = [[], []];
  await until("the end of the queue", async () => {
    const start = performance.now();
    const { code, stderr } = await daemon.svc(["get", "task"]);
    waits.push(performance.now() - start);
    equal(code, 0, stderr);
    memory.push(await residentMb(daemon.pid));
    await new Promise((resolve) => setTimeout(resolve, 500));
    return await open(daemon) === 0 || undefined;
  }, 240_000);

  const tasks = await daemon.tasks();
  deepEqual(
    new Set(tasks.map(({ state, reason }) => `${state} ${reason}`)),
    new Set(["succeeded "]),
  );
  const ran = (await findFile(`${daemon.workspace}/ran`) ?? "").trim().split("\n");
  deepEqual(ran.toSorted(), ids.toSorted());
  const quarter = Math.max(1, Math.floor(memory.length / 4));
  const [early, late] = [memory.slice(quarter, 2 * quarter), memory.slice(-quarter)].map(median);
  ok((late ?? 0) < 1.3 * (early ?? 0) + 30, `memory in MB: ${memory.map(Math.round).join(" ")}`);
  const bare = await medianOf(5, () => daemon.svc(["version"]));
  ok(median(waits) < bare + 300, `get task: ${waits.map(Math.round)} ms, version: ${bare} ms`);
  console.log({ waits: median(waits), bare, memory, early, late, n: waits.length });
});

/** How long this takes, the middle of several times. */
async function medianOf(times: number, act: () => Promise<unknown>): Promise<number> {
  const taken: number[] = [];
  for (let n = 0; n < times; n++) {
    const start = performance.now();
    await act();
    taken.push(performance.now() - start);
  }
  return median(taken);
}
