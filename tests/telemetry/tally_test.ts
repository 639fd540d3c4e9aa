import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { Spread, Spreads, Tally } from "../../src/telemetry/tally.ts";

Deno.test("Tally counts by labels and gives each count with their names", () => {
  const tally = new Tally("trigger", "outcome");
  tally.add("push", "accepted");
  tally.add("push", "accepted");
  tally.add("push", "filtered");
  tally.add("nightly", "accepted");
  equal(tally.size, 3);
  deepEqual(tally.samples(), [
    { labels: { trigger: "push", outcome: "accepted" }, value: 2 },
    { labels: { trigger: "push", outcome: "filtered" }, value: 1 },
    { labels: { trigger: "nightly", outcome: "accepted" }, value: 1 },
  ]);
  deepEqual([tally.has("push"), tally.has("push", "rejected"), tally.has("other")], [
    ...[true, false, false],
  ]);
});

Deno.test("Tally.prune forgets what is not to be kept, and counts it anew afterwards", () => {
  const tally = new Tally("trigger", "outcome");
  for (const trigger of ["a", "b", "a"]) tally.add(trigger, "accepted");
  tally.prune(({ trigger }) => trigger === "b");
  deepEqual([tally.size, tally.samples().length], [1, 1]);
  tally.add("a", "accepted");
  deepEqual(tally.samples().map(({ value }) => value), [1, 1]);
});

Deno.test("Spread gives cumulative buckets, sum and number, as Prometheus wants them", () => {
  const spread = new Spread([1, 5]);
  for (const value of [0.5, 1, 2, 7]) spread.add(value);
  deepEqual(spread.samples({ state: "x" }), [
    { labels: { le: 1, state: "x" }, value: 2, suffix: "_bucket" },
    { labels: { le: 5, state: "x" }, value: 3, suffix: "_bucket" },
    { labels: { le: "+Inf", state: "x" }, value: 4, suffix: "_bucket" },
    { labels: { state: "x" }, value: 10.5, suffix: "_sum" },
    { labels: { state: "x" }, value: 4, suffix: "_count" },
  ]);
});

Deno.test("Spreads keeps one histogram a key", () => {
  const spreads = new Spreads([1]);
  spreads.at("a", () => ({ type: "a" })).add(1);
  spreads.at("a", () => ({ type: "not asked again" })).add(2);
  spreads.at("b", () => ({ type: "b" })).add(3);
  deepEqual([spreads.size, spreads.has("b"), spreads.has("c")], [2, true, false]);
  deepEqual(
    spreads.samples().filter(({ suffix }) => suffix === "_sum"),
    [
      { labels: { type: "a" }, value: 3, suffix: "_sum" },
      { labels: { type: "b" }, value: 3, suffix: "_sum" },
    ],
  );
});
