/**
 * A database with a million deliveries and tasks: accepts compared with an empty database, and `svc
 * get task` compared with a command that calls no daemon.
 *
 * @module
 */

import {
  type DataDirectory,
  initDataDirectory,
  type TestDaemon,
} from "../../../tests/helpers/daemon.ts";
import { runSvc } from "../../../tests/helpers/program.ts";
import { checked } from "../load.ts";
import type { BenchContext, Figure, Scenario } from "../scenario.ts";
import { requestTo, startBusySite } from "../site.ts";
import { ratios, run } from "../stats.ts";
import { fillDirectory } from "../stored_rows.ts";
import { measureUpkeep } from "../upkeep.ts";

const DAY_MS = 24 * 3600 * 1000;

export const manyRows: Scenario = {
  name: "rows",
  title: "1,000,000 stored deliveries and tasks: accepts, lists, and their removal",
  async run(context) {
    const rows = context.size === "quick" ? 100_000 : 1_000_000;
    await using directory = await initDataDirectory(context.program);
    context.note(`storing ${rows.toLocaleString("en")} deliveries and tasks`);
    await fillDirectory(context.program, directory, { rows, agoMs: 60 * DAY_MS });
    const figures = await besideEmpty(context, directory, rows);
    return [...figures, ...await measureUpkeep(context, directory)];
  },
};

async function besideEmpty(
  context: BenchContext,
  directory: DataDirectory,
  rows: number,
): Promise<Figure[]> {
  const { rounds, seconds, load, program } = context;
  const keepAll = ["--keep-tasks-for", "none", "--keep-tasks", "none"];
  await using empty = await startBusySite(program);
  await using full = await startBusySite(program, { directory, args: keepAll });
  const shape = { connections: 64, seconds };
  const rate = async (daemon: TestDaemon) =>
    checked(await load.run(requestTo(daemon.url, "accept"), shape), "accepted").perSecond;
  const measurements = { empty: () => rate(empty), full: () => rate(full) };
  await run(1, measurements); // warm up
  const found = await run(rounds * 2, measurements);
  const lists = await run(rounds * 3, {
    version: () => commandMs(full, ["version"], program),
    tasks: () => commandMs(full, ["get", "task"], program),
    failed: () => commandMs(full, ["get", "task", "--state", "failed"], program),
    deliveries: () => commandMs(full, ["get", "delivery"], program),
    status: () => commandMs(full, ["status"], program),
  });
  const over = (times: readonly number[]) =>
    times.map((time, index) => time - (lists.version[index] ?? NaN));
  const target = { atMost: 30 };
  const many = rows.toLocaleString("en");
  return [
    { name: "accepts, empty database", unit: "/s", samples: found.empty },
    { name: `accepts, ${many} rows`, unit: "/s", samples: found.full },
    {
      name: `accepts, ${many} rows ÷ empty`,
      unit: "×",
      target: { atLeast: 0.9 },
      samples: ratios(found.full, found.empty),
    },
    { name: "svc get task, above a bare start", unit: "ms", samples: over(lists.tasks), target },
    {
      name: "the same with --state failed",
      unit: "ms",
      target,
      samples: over(lists.failed),
    },
    {
      name: "svc get delivery, the same way",
      unit: "ms",
      target,
      samples: over(lists.deliveries),
    },
    { name: "svc status, the same way", unit: "ms", samples: over(lists.status), target },
  ];
}

async function commandMs(
  { dataDir }: TestDaemon,
  args: readonly string[],
  program: BenchContext["program"],
): Promise<number> {
  const start = performance.now();
  const { code, stderr } = await runSvc(program, args, { env: { SVC_DATA_DIR: dataDir } });
  const took = performance.now() - start;
  if (code !== 0) throw new Error(`svc ${args.join(" ")}: ${stderr}`);
  return took;
}
