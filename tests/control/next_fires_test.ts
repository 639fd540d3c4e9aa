/**
 * When triggers fire next, as `svc get triggers` shows it.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { nextColumns, NextFires, nextStatus } from "../../src/control/resources/next_fires.ts";
import type { Resource } from "../../src/resources/resource.ts";
import { manifestResources } from "../rigs/webhook_rig.ts";

const NOW = Date.parse("2026-03-28T23:00:00Z");

/** A Trigger with this event. */
const trigger = (event: string, more = "") =>
  manifestResources(
    `{kind: Trigger, metadata: {name: t}, spec: {event: {${event}}, action: {workflow: w, workspace: s}${more}}}`,
  );

const CASES: readonly (readonly [event: string, more: string, at: string | null, cell: string])[] =
  [
    ['source: cron, cron: {schedule: "0 3 * * *"}', "", "2026-03-29T03:00:00.000Z", "in 4h"],
    [
      'source: cron, cron: {schedule: "30 2 * * *", timezone: Europe/Berlin}', // which does not exist
      "",
      "2026-03-29T01:00:00.000Z",
      "in 2h",
    ],
    ['source: cron, cron: {schedule: "* * * * *"}', "", "2026-03-28T23:01:00.000Z", "in 1m"],
    ['source: cron, cron: {schedule: "* * * * *"}', ", suspend: true", null, ""],
    ["source: webhook, webhook: {allowUnsigned: true}", "", null, ""],
  ];

for (const [event, more, at, cell] of CASES) {
  Deno.test(`NEXT of ${event}${more} is "${cell}"`, async () => {
    const [resource] = trigger(event, more);
    const fires = new NextFires();
    for (const _ of [1, 2]) {
      const next = await fires.of(resource === undefined ? [] : [resource], NOW);
      if (resource === undefined) throw new Error(event);
      const { next_fire_at: first, next_fires: times } = nextStatus(resource, next);
      deepEqual([first, (times as readonly string[])[0] ?? null], [at, at]);
      deepEqual(
        nextColumns("Trigger", next, NOW).map((column) => [
          column.header,
          resource && column.cell(resource),
        ]),
        [["NEXT", cell]],
      );
    }
  });
}

Deno.test("other kinds have no next time", async () => {
  const resources = manifestResources("{kind: Workspace, metadata: {name: s}, spec: {path: s}}");
  const next = await new NextFires().of(resources, NOW);
  equal(next.size, 0);
  deepEqual(nextColumns("Workspace", next, NOW), []);
  deepEqual(resources.map((one) => nextStatus(one, next)), [{}]);
});

/** The next times of one schedule as answers show them. */
async function timesOf(fires: NextFires, resource: Resource | undefined, now: number) {
  if (resource === undefined) throw new Error("no trigger");
  const { next_fires: times } = nextStatus(resource, await fires.of([resource], now));
  return times as readonly string[];
}

Deno.test("five next times, which follow the clock forth and back", async () => {
  const [resource] = trigger('source: cron, cron: {schedule: "*/20 * * * *"}');
  const fires = new NextFires();
  const at = (text: string) => timesOf(fires, resource, Date.parse(`2026-03-${text}:00Z`));
  const times = (...texts: readonly string[]) => texts.map((text) => `2026-03-${text}:00.000Z`);
  const first = times("28T23:20", "28T23:40", "29T00:00", "29T00:20", "29T00:40");
  deepEqual(await at("28T23:00"), first);
  deepEqual(await at("28T23:19"), first, "until the first of them has come");
  deepEqual(await at("28T23:20"), [...first.slice(1), ...times("29T01:00")]);
  deepEqual(await at("28T23:00"), first, "the clock was set back");
  deepEqual(
    await at("29T05:01"),
    times("29T05:20", "29T05:40", "29T06:00", "29T06:20", "29T06:40"),
  );
});

Deno.test("the next times of a schedule show the hour that is left out", async () => {
  const [resource] = trigger(
    'source: cron, cron: {schedule: "30 2 * * *", timezone: Europe/Berlin}',
  );
  deepEqual(await timesOf(new NextFires(), resource, NOW), [
    "2026-03-29T01:00:00.000Z",
    "2026-03-30T00:30:00.000Z",
    "2026-03-31T00:30:00.000Z",
    "2026-04-01T00:30:00.000Z",
    "2026-04-02T00:30:00.000Z",
  ]);
});

Deno.test("the times of a rare schedule are years apart", async () => {
  const [rare] = trigger('source: cron, cron: {schedule: "0 0 29 2 *"}');
  deepEqual(
    (await timesOf(new NextFires(), rare, NOW)).map((at) => at.slice(0, 10)),
    [2028, 2032, 2036, 2040, 2044].map((year) => `${year}-02-29`),
  );
});
