/**
 * When triggers fire next, as `svc get triggers` shows it.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { nextColumns, NextFires, nextStatus } from "../../src/control/resources/next_fires.ts";
import { manifestResources } from "../intake/webhook_rig.ts";

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
      deepEqual(resource && nextStatus(resource, next), { next_fire_at: at });
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
