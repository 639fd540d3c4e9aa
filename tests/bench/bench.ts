/**
 * `make bench`: runs the scenarios and reports: a table on the terminal, `bench/results.json` and
 * `bench/chart.svg`. `--only NAME[,NAME]`, `--quick` (does it work?), `--long` (ten minutes of
 * mixed load), `--source` (not the compiled program), `--publish` (the chart goes to `docs/`, too).
 *
 * @module
 */

import { join } from "node:path";
import { parseArgs } from "node:util";
import { ROOT } from "../helpers/program.ts";
import { chartOf } from "./chart.ts";
import { findLoadClient } from "./load.ts";
import { describeMachine, machineLine, QUIET_LOAD } from "./machine.ts";
import { compileSvc, SOURCE } from "./programs.ts";
import { judge, type Report, type Result, tableOf } from "./report.ts";
import type { BenchContext } from "./scenario.ts";
import { SCENARIOS } from "./scenarios.ts";

const { values: flags } = parseArgs({
  args: Deno.args,
  options: {
    only: { type: "string", multiple: true },
    quick: { type: "boolean", default: false },
    long: { type: "boolean", default: false },
    source: { type: "boolean", default: false },
    publish: { type: "boolean", default: false },
    list: { type: "boolean", default: false },
  },
});
const wanted = (flags.only ?? []).flatMap((names) => names.split(","));
const unknown = wanted.filter((name) => !SCENARIOS.some((scenario) => scenario.name === name));
if (flags.list || unknown.length > 0) {
  if (unknown.length > 0) console.error(`No such scenario: ${unknown.join(", ")}. There are:`);
  for (const { name, title } of SCENARIOS) console.log(`${name.padEnd(10)} ${title}`);
  Deno.exit(unknown.length > 0 ? 2 : 0);
}

const machine = await describeMachine();
console.log(machineLine(machine));
if (machine.loadBefore > QUIET_LOAD) {
  console.log(
    `Others are at work here (load ${machine.loadBefore}): take only the ratios, with care`,
  );
}
const load = await findLoadClient();
const compiled = await compileSvc();
const size = flags.quick ? "quick" : flags.long ? "long" : "usual";
const context: BenchContext = {
  rounds: 3,
  seconds: flags.quick ? 1 : 4,
  size,
  load,
  compiled,
  source: SOURCE,
  program: flags.source ? SOURCE : compiled ?? SOURCE,
  note: (text) => console.error(`  ${text}`),
};
console.log(
  `svc ${context.program.name}, load by ${load.name}, ` +
    `${context.rounds} rounds of ${context.seconds} s`,
);

const results: Result[] = [];
const failed: string[] = [];
const directory = join(ROOT, "bench");
await Deno.mkdir(directory, { recursive: true });
for (const { name, title, run } of SCENARIOS) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  console.error(`${name}: ${title}`);
  const start = performance.now();
  try {
    const found = judge(name, await run(context));
    results.push(...found);
    console.log(tableOf(found)); // at once: a run takes minutes, and may be ended before its time
    await write();
  } catch (error) {
    failed.push(name);
    console.error(`  FAILED: ${textOf(error)}`);
  }
  console.error(`  ${Math.round((performance.now() - start) / 1000)} s`);
}
const missed = results.filter(({ ok }) => ok === false);
const met = results.filter(({ ok }) => ok === true);
console.log(`${met.length} targets reached, ${missed.length} missed`);
if (missed.length > 0) console.log(tableOf(missed));
console.log("All figures: bench/results.json, bench/chart.svg");
if (failed.length > 0) console.log(`Could not be measured: ${failed.join(", ")}`);
Deno.exit(failed.length > 0 ? 1 : 0);

/** Writes what has been found so far. */
async function write(): Promise<void> {
  const report: Report = {
    at: new Date().toISOString(),
    machine,
    load: load.name,
    program: context.program.name,
    rounds: context.rounds,
    seconds: context.seconds,
    results,
  };
  const chart = chartOf(report);
  await Deno.writeTextFile(join(directory, "results.json"), JSON.stringify(report, null, 2) + "\n");
  await Deno.writeTextFile(join(directory, "chart.svg"), chart);
  if (flags.publish) await Deno.writeTextFile(join(ROOT, "docs/performance.svg"), chart);
}

/** An error with those it has hidden. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { stack = error.message } = error;
  if (!(error instanceof SuppressedError)) return stack;
  return `${textOf(error.suppressed)}\n  and then: ${textOf(error.error)}`;
}
