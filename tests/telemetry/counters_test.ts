import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { Counter, Histogram, Histograms } from "../../src/telemetry/counters.ts";

Deno.test("Counter counts by labels and gives each count with their names", () => {
  const counter = new Counter("trigger", "outcome");
  counter.add("push", "accepted");
  counter.add("push", "accepted");
  counter.add("push", "filtered");
  counter.add("nightly", "accepted");
  equal(counter.size, 3);
  deepEqual(counter.samples(), [
    { labels: { trigger: "push", outcome: "accepted" }, value: 2 },
    { labels: { trigger: "push", outcome: "filtered" }, value: 1 },
    { labels: { trigger: "nightly", outcome: "accepted" }, value: 1 },
  ]);
  deepEqual([counter.has("push"), counter.has("push", "rejected"), counter.has("other")], [
    true,
    false,
    false,
  ]);
});

Deno.test("Counter.prune forgets the labels that are not to be kept, and counts them anew afterwards", () => {
  const counter = new Counter("trigger", "outcome");
  for (const trigger of ["a", "b", "a"]) counter.add(trigger, "accepted");
  counter.prune(({ trigger }) => trigger === "b");
  deepEqual([counter.size, counter.samples().length], [1, 1]);
  counter.add("a", "accepted");
  deepEqual(counter.samples().map(({ value }) => value), [1, 1]);
});

Deno.test("Histogram gives cumulative buckets, sum and number, as Prometheus wants them", () => {
  const histogram = new Histogram([1, 5]);
  for (const value of [0.5, 1, 2, 7]) histogram.add(value);
  deepEqual(histogram.samples({ state: "x" }), [
    { labels: { le: 1, state: "x" }, value: 2, suffix: "_bucket" },
    { labels: { le: 5, state: "x" }, value: 3, suffix: "_bucket" },
    { labels: { le: "+Inf", state: "x" }, value: 4, suffix: "_bucket" },
    { labels: { state: "x" }, value: 10.5, suffix: "_sum" },
    { labels: { state: "x" }, value: 4, suffix: "_count" },
  ]);
});

Deno.test("Histograms keeps one histogram a key", () => {
  const histograms = new Histograms([1]);
  histograms.at("a", () => ({ type: "a" })).add(1);
  histograms.at("a", () => ({ type: "not asked again" })).add(2);
  histograms.at("b", () => ({ type: "b" })).add(3);
  deepEqual([histograms.size, histograms.has("b"), histograms.has("c")], [2, true, false]);
  deepEqual(
    histograms.samples().filter(({ suffix }) => suffix === "_sum"),
    [
      { labels: { type: "a" }, value: 3, suffix: "_sum" },
      { labels: { type: "b" }, value: 3, suffix: "_sum" },
    ],
  );
});
