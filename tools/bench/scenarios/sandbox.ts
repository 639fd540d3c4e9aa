/**
 * What a sandbox costs a step: how much longer a task takes whose only step does nothing, from its
 * creation to its end, and whether anything is left of many at once.
 *
 * @module
 */

import { DatabaseSync } from "node:sqlite";
import type { TestDaemon } from "../../../tests/helpers/daemon.ts";
import { type Manifest, workflow } from "../../../tests/helpers/manifests.ts";
import { until } from "../../../tests/helpers/until.ts";
import { NO_SANDBOX } from "../../../tests/helpers/sandbox.ts";
import type { BenchContext, Figure, FigureKind, Scenario } from "../scenario.ts";
import { benchTrigger, countTasks, requestTo, sendOne, startSite } from "../site.ts";
import { median } from "../stats.ts";

const WAYS = { bare: undefined, none: "none", rules: { allow: ["example.com"] } } as const;
type Way = keyof typeof WAYS;

const FIGURES: Readonly<Record<Way, FigureKind>> = {
  bare: { name: "a task outside a sandbox, median", unit: "ms" },
  none: { name: "in a sandbox without a network, longer", unit: "ms", target: { atMost: 25 } },
  rules: { name: "in a sandbox with rules, longer", unit: "ms", target: { atMost: 45 } },
};
const LEFT: FigureKind = {
  name: "processes, mounts and files left of 200 tasks, 20 at a time",
  unit: "",
  target: { atMost: 0 },
};

export const sandbox: Scenario = {
  name: "sandbox",
  title: "a step in a sandbox",
  async run(context) {
    if (NO_SANDBOX !== undefined) {
      context.note(`SKIPPED: ${NO_SANDBOX}`);
      return [...Object.values(FIGURES), LEFT].map((kind) => ({ ...kind, samples: [NaN] }));
    }
    const samples: Record<Way | "left", number[]> = { bare: [], none: [], rules: [], left: [] };
    for (let round = 0; round < context.rounds; round++) {
      await using daemon = await startSite(context.program, {
        args: ["--workers", "20"],
        more: Object.keys(WAYS).flatMap((way) => manifestsOf(way as Way)),
      });
      const times = await measure(daemon, context);
      samples.bare.push(times.bare);
      samples.none.push(times.none - times.bare);
      samples.rules.push(times.rules - times.bare);
      samples.left.push(await leftOfMany(daemon, context.size === "quick" ? 20 : 200));
    }
    const figures = Object.entries(FIGURES).map(([way, kind]): Figure => ({
      ...kind,
      samples: samples[way as Way],
    }));
    return [...figures, { ...LEFT, samples: samples.left }];
  },
};

function manifestsOf(way: Way): Manifest[] {
  const network = WAYS[way];
  const { spec, ...rest } = workflow(`walled-${way}`, ":");
  const walls = network === undefined ? {} : { sandbox: { network } };
  return [
    { ...rest, spec: { ...spec, ...walls } },
    benchTrigger(`walled-${way}`, { workflow: `walled-${way}` }),
  ];
}

/** The median of each way, whose tasks take turns. */
async function measure(
  daemon: TestDaemon,
  { size }: BenchContext,
): Promise<Readonly<Record<Way, number>>> {
  const ways = Object.keys(WAYS) as Way[];
  const times: Record<Way, number[]> = { bare: [], none: [], rules: [] };
  const rounds = size === "quick" ? 5 : 30;
  for (let n = -2; n < rounds; n++) {
    for (const way of ways) {
      const taken = await timeOf(daemon, way);
      if (n >= 0) times[way].push(taken); // the others warm up
    }
  }
  return { bare: median(times.bare), none: median(times.none), rules: median(times.rules) };
}

/** Milliseconds from the creation of a task to its end. */
async function timeOf(daemon: TestDaemon, way: Way): Promise<number> {
  const { task_id: id } = await sendOne(requestTo(daemon.url, `walled-${way}`));
  using db = new DatabaseSync(`${daemon.dataDir}/svc.db`, { readOnly: true });
  const row = db.prepare("SELECT state, finished_at - created_at AS ms FROM tasks WHERE id = ?");
  return await until(`the end of task ${id}`, () => {
    const found = row.get(String(id));
    if (found?.["state"] === "failed") throw new Error(`A task in a sandbox failed: ${id}`);
    return found?.["state"] === "succeeded" ? Number(found["ms"]) : undefined;
  });
}

/** What is left when all of these tasks have ended. */
async function leftOfMany(daemon: TestDaemon, times: number): Promise<number> {
  const before = countTasks(daemon, ["succeeded"]);
  const request = requestTo(daemon.url, "walled-rules");
  for (let n = 0; n < times; n++) await sendOne(request);
  await until(
    "the end of all tasks",
    () => countTasks(daemon, ["succeeded"]) === before + times ? true : undefined,
  );
  const mounts = await Deno.readTextFile("/proc/self/mountinfo");
  const left = [
    ...processesOf(daemon.dataDir),
    ...mounts.split("\n").filter((line) => line.includes(daemon.dataDir)),
    ...[...Deno.readDirSync(`${daemon.dataDir}/sandbox`)].filter(({ isSymlink, isFile }) =>
      !isFile && !isSymlink
    ),
    ...Deno.readDirSync(`${daemon.dataDir}/run`),
  ];
  return left.length;
}

/** The processes that make sandboxes of this daemon. */
function processesOf(dataDir: string): string[] {
  return [...Deno.readDirSync("/proc")].map(({ name }) => name).filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      const line = Deno.readTextFileSync(`/proc/${pid}/cmdline`);
      return /bwrap|socat/.test(line) && line.includes(dataDir);
    } catch {
      return false; // it has ended
    }
  });
}
