/**
 * `svc db move`: the rows of a file that reach PostgreSQL in a second, checked and read back, and the
 * memory that it takes.
 *
 * @module
 */

import { initDataDirectory } from "../../../tests/helpers/daemon.ts";
import { createEmptyDatabase } from "../../../tests/helpers/postgres.ts";
import { cleanEnv } from "../../../tests/helpers/program.ts";
import { withPostgres } from "../database.ts";
import { peakMb } from "../machine.ts";
import { costOf } from "../processor_time.ts";
import type { BenchContext, Figure, Scenario } from "../scenario.ts";
import { fillDirectory } from "../stored_rows.ts";

/** Deliveries in the file, with a task and a step each. */
const DELIVERIES = { quick: 20_000, usual: 250_000, long: 1_000_000 } as const;
const DAY_MS = 24 * 3600 * 1000;

export const move: Scenario = {
  name: "move",
  title: "svc db move: a file to PostgreSQL",
  run: (context) => withPostgres(context, () => measure(context)),
};

async function measure({ program, size, note }: BenchContext): Promise<readonly Figure[]> {
  await using directory = await initDataDirectory(program);
  await using database = await createEmptyDatabase();
  const deliveries = DELIVERIES[size];
  note(`storing ${deliveries.toLocaleString("en")} deliveries and tasks`);
  await fillDirectory(program, directory, { rows: deliveries, agoMs: DAY_MS });
  const to = ["--to", database.url, "--data-dir", directory.path, "--output", "json"];
  const began = performance.now();
  const { rows, mb, cost } = await costOf("self", async () => {
    const child = new Deno.Command(program.command, {
      args: [...program.args, "db", "move", ...to],
      clearEnv: true,
      env: cleanEnv(),
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    let mb = NaN;
    const looking = setInterval(async () => {
      const peak = await peakMb(child.pid);
      if (!(peak <= mb)) mb = Number.isNaN(peak) ? mb : peak;
    }, 50);
    const { code, stdout, stderr } = await child.output();
    clearInterval(looking);
    const [said, fault] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
    if (code !== 0) throw new Error(`svc db move: ${fault}`);
    const moved = JSON.parse(said ?? "") as { readonly rows: Readonly<Record<string, number>> };
    return { mb, rows: Object.values(moved.rows).reduce((sum, count) => sum + count, 0) };
  }, ({ rows }) => rows);
  const seconds = (performance.now() - began) / 1000;
  return [
    { name: "rows moved a second", unit: "/s", samples: [rows / seconds], target: TARGET.rows },
    { name: "most memory of the command", unit: "MB", samples: [mb], target: TARGET.mb },
    { name: "processor time of svc a row", unit: "µs", samples: [cost.ended], inDocs: true },
  ];
}

const TARGET = { rows: { atLeast: 20_000 }, mb: { atMost: 300 } } as const;
