/**
 * A long queue that drains: tasks queue behind busy workers, and are then run while `svc get task`
 * is called again and again.
 *
 * @module
 */

import { residentMb } from "../bench/machine.ts";
import { median } from "../bench/stats.ts";
import { initDataDirectory, startDaemon, type TestDaemon } from "../../tests/helpers/daemon.ts";
import { trigger, workflow } from "../../tests/helpers/manifests.ts";
import type { Program } from "../../tests/helpers/program.ts";
import { findFile, until } from "../../tests/helpers/until.ts";

export interface LongQueue {
  /** Faults, a sentence each. */
  readonly faults: readonly string[];
  /** Seconds from the first start to the last end. */
  readonly drainSecs: number;
  /** Median time of `svc get task` meanwhile, in milliseconds. */
  readonly getTaskMs: number;
  /** The same of `svc version`, which calls no daemon. */
  readonly versionMs: number;
  /** Memory of the daemon meanwhile, in MB: in the second quarter, in the last one, and at most. */
  readonly memoryMb: { readonly early: number; readonly late: number; readonly most: number };
}

const AT_ONCE = 32;
const WORKERS = 8;
/**
 * Longest time of `svc get task`, as a multiple of a bare start of the program measured beside it.
 */
const QUICK = 4;
const POLL_INTERVAL_MS = 500;
const WITHIN_MS = 600_000;

/**
 * Queues tasks, releases the workers, and compares the steps that ran with the accepted requests.
 */
export async function drainLongQueue(program: Program, count: number): Promise<LongQueue> {
  await using directory = await initDataDirectory(program);
  const args = ["--workers", String(WORKERS), "--log-level", "warn", "--keep-tasks", "none"];
  await using daemon = await startDaemon(program, { directory, args });
  const webhook = { allowUnsigned: true };
  await daemon.apply(
    workflow("gate", "while [ ! -e go ]; do sleep 0.05; done"),
    workflow("record", 'echo "$SVC_TASK_ID" >>ran'),
    trigger("gate", { webhook, workflow: "gate" }),
    trigger("run", { webhook }),
  );
  await queue(daemon, "/webhook/gate", WORKERS);
  const ids = await queue(daemon, "/webhook/run", count);
  const faults: string[] = [];
  const waiting = await open(daemon);
  if (waiting !== count + WORKERS) faults.push(`${waiting} wait or run, not ${count + WORKERS}`);

  await Deno.writeTextFile(`${daemon.workspace}/go`, "");
  const start = performance.now();
  const [waits, bare, memory]: [number[], number[], number[]] = [[], [], []];
  await until("the end of the queue", async () => {
    waits.push(await timed(() => daemon.json("get", "task")));
    bare.push(await timed(() => daemon.svc(["version"])));
    memory.push(await residentMb(daemon.pid));
    await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL_MS));
    return await open(daemon) === 0 || undefined;
  }, WITHIN_MS);
  const drainSecs = (performance.now() - start) / 1000;

  const ends = Map.groupBy(await daemon.tasks(), ({ state, reason }) => `${state} ${reason}`);
  for (const [end, tasks] of ends) {
    if (end !== "succeeded ") faults.push(`${tasks.length} tasks ended ${end}`);
  }
  const ran = (await findFile(`${daemon.workspace}/ran`) ?? "").trim().split("\n");
  const missing = new Set(ids).difference(new Set(ran)).size;
  if (missing > 0 || ran.length !== count) {
    faults.push(`${ran.length} ran, ${missing} of ${count} did not`);
  }
  const quarter = Math.max(1, Math.floor(memory.length / 4));
  const early = median(memory.slice(quarter, 2 * quarter));
  const late = median(memory.slice(-quarter));
  if (late > 1.3 * early + 30) faults.push(`memory grew: ${memory.map(Math.round).join(" ")} MB`);
  const getTaskMs = median(waits);
  const versionMs = median(bare);
  if (getTaskMs > QUICK * versionMs) {
    faults.push(`svc get task took ${getTaskMs} ms, svc version ${versionMs} ms`);
  }
  const memoryMb = { early, late, most: Math.max(...memory) };
  return { faults, drainSecs, getTaskMs, versionMs, memoryMb };
}

/** Sends requests; returns the ids of the tasks. */
async function queue(daemon: TestDaemon, path: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  let next = 0;
  const send = async () => {
    while (next < count) {
      const body = JSON.stringify({ n: next++ });
      const { status, json, text } = await daemon.send(path, { body });
      if (status !== 200 || json["status"] !== "accepted") throw new Error(`${status}: ${text}`);
      ids.push(String(json["task_id"]));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, send));
  return ids;
}

/** The number of pending and running tasks. */
async function open(daemon: TestDaemon): Promise<number> {
  const { counts } = await daemon.json("status") as { counts: Record<string, number> };
  const open = ["tasks_pending", "tasks_running", "tasks_waiting"];
  return open.reduce((sum, name) => sum + (counts[name] ?? 0), 0);
}

/** The time that `act` takes, in milliseconds. */
async function timed(act: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await act();
  return performance.now() - start;
}
