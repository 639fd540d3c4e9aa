import { deepStrictEqual as equal } from "node:assert/strict";
import type { Program } from "../helpers/program.ts";
import { compare, subjectOf } from "../../tools/bench/compare.ts";
import { docsTableOf, judge, tableOf } from "../../tools/bench/report.ts";
import type { BenchContext } from "../../tools/bench/scenario.ts";

const program: Program = { name: "compiled", command: "now", args: [] };
const baseline: Program = { name: "compiled", command: "before", args: [] };

/** Rounds of two programs, of which the new one costs a half, and of a yardstick. */
async function measure(rounds: number, with_: Pick<BenchContext, "baseline">) {
  const order: string[] = [];
  const context: BenchContext = {
    program,
    rounds,
    seconds: 0,
    size: "quick",
    note: () => {},
    load: { name: "none", run: () => Promise.reject(new Error("no load here")) },
    baseline: with_.baseline,
  };
  const subject = (name: string, value: number) => {
    const ended = { [Symbol.asyncDispose]: () => Promise.resolve(void order.push(`${name} ends`)) };
    const measurement = (of: string) => () => Promise.resolve((order.push(`${name} ${of}`), value));
    return subjectOf<"a" | "b", number>(ended, { a: measurement("a"), b: measurement("b") });
  };
  const figures = await compare<"a" | "b", number>(context, {
    measurements: ["a", "b"],
    open: ({ command }) => Promise.resolve(subject(command, command === "now" ? 50 : 100)),
    beside: {
      bare: () => Promise.resolve(subject("bare", 25)),
      missing: () => Promise.resolve(undefined),
    },
    figures: (own, { bare, missing }) => [
      { name: "cost", unit: "µs", value: own.a, change: { atMost: 0.65 } },
      { name: "over bare", unit: "×", value: own.a / (bare?.a ?? NaN), target: { atMost: 1.5 } },
      { name: "bare", unit: "µs", value: bare?.a ?? NaN, shared: true },
      { name: "peer", unit: "µs", value: missing?.a ?? NaN, target: { atMost: 1 } },
    ],
  });
  return { order, results: judge("some", figures) };
}

Deno.test("programs take each measurement in turn, in one order and then in the other", async () => {
  const { order } = await measure(1, { baseline });
  const measurement = (of: string, names: readonly string[]) =>
    names.map((name) => `${name} ${of}`);
  const [there, back] = [["bare", "before", "now"], ["now", "before", "bare"]];
  const turns = [there, back].flatMap((
    names,
  ) => [...measurement("a", names), ...measurement("b", names)]);
  equal(order, [...turns, ...measurement("ends", back)]);
});

Deno.test("a change is judged by its ratios to the earlier program", async () => {
  const { results } = await measure(1, { baseline });
  equal(
    results.map(({ name, median, before, ratio, ok }) => ({ name, median, before, ratio, ok })),
    [
      { name: "cost", median: 50, before: [100, 100], ratio: [0.5, 0.5], ok: true },
      { name: "over bare", median: 2, before: [4, 4], ratio: [0.5, 0.5], ok: false },
      { name: "bare", median: 25, before: undefined, ratio: undefined, ok: undefined },
      { name: "peer", median: NaN, before: [NaN, NaN], ratio: [NaN, NaN], ok: undefined },
    ],
  );
});

Deno.test("without an earlier program nothing is said of changes", async () => {
  const { results } = await measure(1, { baseline: undefined });
  equal(results.map(({ before, ok }) => ({ before, ok })), [
    { before: undefined, ok: undefined },
    { before: undefined, ok: false },
    { before: undefined, ok: undefined },
    { before: undefined, ok: undefined },
  ]);
});

Deno.test("the table says what cannot be measured", async () => {
  const { results } = await measure(3, { baseline });
  equal((await tableOf(results)).split("\n"), [
    "FIGURE     BEFORE        NOW           RATIO  WANTED",
    "— some",
    "cost       100 µs        50 µs         0.50   ratio ≤ 0.65",
    "over bare  4.00          2.00          0.50   ≤ 1.50 MISSED",
    "bare                     25 µs",
    "peer       not measured  not measured         ≤ 1 µs",
  ]);
});

Deno.test("the docs have the figures with a target, and the change where that is the target", async () => {
  const { results } = await measure(1, { baseline });
  const report = {
    at: "2026-11-26T00:00:00Z",
    machine: {
      processors: "2 × some",
      memoryGb: 1,
      kernel: "linux",
      deno: "2",
      loadBefore: 0,
      fsyncMs: 1,
    },
    load: "none",
    program: "compiled",
    rounds: 1,
    seconds: 2,
    results,
  };
  equal(docsTableOf(report).split("\n").slice(4, -1), [
    "| *some* | cost | 50 µs (50–50); 0.50 (0.5–0.5) of before | ratio ≤ 0.65 |",
    "|  | over bare | **2.00 (2–2)** | ≤ 1.50 |",
    "|  | peer | not measured | ≤ 1 µs |",
  ]);
});
