/**
 * `make bench`: runs the scenarios and reports: a table on the terminal, and in `bench/` `results.md`,
 * `results.json` and `chart.svg`. `--baseline PATH` (an earlier `svc`, measured in turn with
 * this one), `--only NAME[,NAME]`, `--rounds N`, `--quick` (does it work?), `--long` (ten minutes of
 * mixed load), `--source` (not the compiled program), `--publish` (a short table goes to
 * `docs/design/performance.md`).
 *
 * @module
 */

import { join } from "node:path";
import { parseArgs } from "node:util";
import { defined } from "../../src/base/defined.ts";
import { type Program, ROOT, SOURCE } from "../../tests/helpers/program.ts";
import { chartOf } from "./chart.ts";
import { findLoadClient } from "./load.ts";
import { describeMachine, machineLine, QUIET_LOAD } from "./machine.ts";
import { compileSvc, findBaseline } from "./programs.ts";
import { docsTableOf, judge, markdownOf, type Report, type Result, tableOf } from "./report.ts";
import type { BenchContext } from "./scenario.ts";
import { SCENARIOS } from "./scenarios.ts";

const { values: flags } = parseArgs({
  args: Deno.args,
  options: {
    baseline: { type: "string" },
    rounds: { type: "string" },
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

if (flags.publish && (flags.quick || wanted.length > 0)) {
  console.error("--publish takes a whole run: neither --quick nor --only");
  Deno.exit(2);
}
const baseline = flags.baseline === undefined ? undefined : await baselineAt(flags.baseline);

const machine = await describeMachine();
console.log(machineLine(machine));
if (machine.loadBefore > QUIET_LOAD) {
  console.log(
    `Others are at work here (load ${machine.loadBefore}): take only the ratios, with care`,
  );
}
const load = await findLoadClient();
const context: BenchContext = {
  rounds: Math.max(1, Number(flags.rounds ?? (flags.quick ? 1 : 3))),
  seconds: flags.quick ? 1 : 2,
  size: flags.quick ? "quick" : flags.long ? "long" : "usual",
  load,
  program: flags.source ? SOURCE : await compileSvc() ?? SOURCE,
  baseline,
  note: (text) => console.error(`  ${text}`),
};
console.log(
  `svc ${context.program.name}${baseline === undefined ? "" : ` against ${baseline.command}`}, ` +
    `load by ${load.name}, ${context.rounds} rounds of ${context.seconds} s`,
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
    console.log(await tableOf(found)); // at once: a run takes minutes, and may be ended before its time
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
if (missed.length > 0) console.log(await tableOf(missed));
console.log("All figures: bench/results.json, bench/results.md, bench/chart.svg");
if (flags.publish && failed.length === 0) await publish();
if (failed.length > 0) console.log(`Could not be measured: ${failed.join(", ")}`);
Deno.exit(failed.length > 0 ? 1 : 0);

/** The figures measured so far. */
function reportNow(): Report {
  return {
    at: new Date().toISOString(),
    machine,
    load: load.name,
    program: context.program.name,
    ...defined({ baseline: baseline?.command }),
    rounds: context.rounds,
    seconds: context.seconds,
    results,
  };
}

/** Writes the figures measured so far. */
async function write(): Promise<void> {
  const report = reportNow();
  await Deno.writeTextFile(join(directory, "results.json"), JSON.stringify(report, null, 2) + "\n");
  await Deno.writeTextFile(join(directory, "results.md"), markdownOf(report));
  await Deno.writeTextFile(join(directory, "chart.svg"), chartOf(report));
}

/** Writes the short table of a whole run into the docs. */
async function publish(): Promise<void> {
  const path = join(ROOT, "docs/design/performance.md");
  const page = await Deno.readTextFile(path);
  const table = docsTableOf(reportNow());
  const fresh = page.replace(/(?<=<!-- bench -->\n)[^]*(?=<!-- end -->)/, () => `\n${table}\n`);
  await Deno.writeTextFile(path, fresh);
}

/** Exits if the path of the baseline is wrong. */
async function baselineAt(path: string): Promise<Program> {
  try {
    return await findBaseline(path);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    Deno.exit(2);
  }
}

/** The text of an error with the errors that it suppressed. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { stack = error.message } = error;
  if (!(error instanceof SuppressedError)) return stack;
  return `${textOf(error.suppressed)}\n  and then: ${textOf(error.error)}`;
}
