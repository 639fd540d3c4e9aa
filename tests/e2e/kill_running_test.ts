/**
 * Recovery and queues, once, on the compiled program where there is one: the daemon is killed again
 * and again while tasks run, and a long queue is drained. What steps write into a ledger of their
 * own is held against the records, as the soak does it.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { initDataDirectory } from "../helpers/daemon.ts";
import { longTest, ONE_PROGRAM, programTest } from "../helpers/program.ts";
import { missing } from "../helpers/requirements.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";
import { Journal } from "../../tools/soak/journal.ts";
import { readLedger } from "../../tools/soak/ledger.ts";
import { findMarkedProcesses } from "../helpers/leftovers.ts";
import { Lives } from "../../tools/soak/lives.ts";
import { drainLongQueue } from "../../tools/soak/long_queue.ts";
import { readRecords } from "../../tools/soak/records.ts";
import { makeSite, manifestsOf } from "../../tools/soak/site.ts";
import {
  judgeFiles,
  judgeProcesses,
  judgePromises,
  judgeSteps,
  judgeTasks,
} from "../../tools/soak/verdict.ts";
import { World } from "../../tools/soak/world.ts";

const KILLS = 10;
/**
 * Side by side, with retries and `finally`; in groups; with forks, deaf to TERM, in time trouble.
 */
const WORKFLOWS = ["wide", "wide", "wide", "queue", "replace", "hard", "late", "sleeps", "tree"];
/** After how long a life ends, in turn: before, in, and between the steps of what runs. */
const LIVES_MS = [150, 900, 400, 1500, 250, 650];

longTest(
  `${KILLS} kill -9 of the daemon while tasks run: each ends once, no step meets its twin, nothing is left`,
  async () => {
    await using base = await tempDir();
    await using directory = await initDataDirectory(ONE_PROGRAM);
    const [site, journal] = [await makeSite(base.path, directory), new Journal()];
    const args = ["--workers", "8", "--log-format", "json"];
    await using lives = new Lives({ program: ONE_PROGRAM, directory, journal, args });
    const world = new World({ site, lives, journal, stop: new AbortController().signal });
    await lives.start();
    await (await lives.now()).apply(...manifestsOf(site, ONE_PROGRAM));
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
    await judgeProcesses(site, journal);
    const records = await readRecords(directory.path);
    const lines = await readLedger(`${base.path}/ledger`);
    await judgeFiles(records, { site, journal });
    judgePromises(records, journal);
    judgeTasks(records, journal);
    judgeSteps(records, lines, { deaths: lives.story.deaths, journal });
    if (ONE_PROGRAM.onPostgres !== true) equal((await daemon.svc(["db", "check"])).code, 0);
    await lives.end("TERM");
    await judgeProcesses(site, journal);

    deepEqual([journal.faults, journal.moreFaults], [[], 0]);
    equal(journal.promised.length, KILLS * WORKFLOWS.length);
    const tasks = [...records.tasks.values()];
    const interrupted = tasks.filter(({ restarts }) => restarts > 0);
    ok(interrupted.length >= KILLS, `only ${interrupted.length} tasks were interrupted`);
    ok(tasks.some(({ restarts, state }) => restarts > 0 && state === "succeeded"));
  },
  { skip: missing("git") },
);

programTest(
  "kill -9 while plugins run: a guard ends their processes, or the next start does before their rows say interrupted",
  async () => {
    await using base = await tempDir();
    await using directory = await initDataDirectory(ONE_PROGRAM);
    const [site, journal] = [await makeSite(base.path, directory), new Journal()];
    const args = ["--log-format", "json"];
    await using lives = new Lives({ program: ONE_PROGRAM, directory, journal, args });
    const world = new World({ site, lives, journal, stop: new AbortController().signal });
    await lives.start();
    await (await lives.now()).apply(...manifestsOf(site, ONE_PROGRAM));
    const shot = { trigger: "checked", body: '{"key":"red"}', headers: { "x-soak-pass": "slow" } };
    const shots = [world.shoot(shot, []), world.shoot(shot, [])];
    const sleepers = async () =>
      (await findMarkedProcesses(directory.path)).filter((one) => one.endsWith("sleep 60"));
    await until("two runs", async () => (await sleepers()).length === 2 || undefined);
    await lives.end("KILL");
    deepEqual(await Promise.all(shots), [undefined, undefined]);
    if (ONE_PROGRAM.onPostgres === true) {
      await until("their end", async () => (await sleepers()).length === 0 || undefined);
    } else {
      equal((await sleepers()).length, 2, "they outlive the daemon");
    }
    await lives.start();
    deepEqual(await sleepers(), []);
    const { audit } = await readRecords(directory.path);
    deepEqual(
      audit.filter(({ plugin_type: type }) => type === "interceptor").map(({ result }) => result),
      ["allowed", "interrupted", "interrupted"],
    );
    deepEqual(journal.faults, []);
  },
  { skip: missing("git") },
);

/** As many as go in half a minute on a busy machine; `make soak` drains 10,000. */
const TASKS = 2000;

longTest(
  `${TASKS} queued tasks drain: none is lost, none runs twice, memory stays flat, svc get task is quick`,
  async () => {
    const { faults } = await drainLongQueue(ONE_PROGRAM, TASKS);
    deepEqual(faults, []);
  },
);
