/**
 * The blocks `cron`, `filesystem` and `task` of a Trigger: refusals on apply, with a remedy.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { KindLookup } from "../../src/resources/kind_lookup.ts";
import { formatFinding, parseManifest } from "../../src/resources/manifest.ts";
import { readDocument } from "../../src/resources/read.ts";
import { Schedule } from "../../src/resources/schedule.ts";
import { trigger } from "../../src/resources/trigger.ts";

const kinds = new KindLookup([]);

/** What there is to say about a trigger with this event, a YAML flow mapping without its braces. */
function said(event: string): string[] {
  const text =
    `{kind: Trigger, metadata: {name: t}, spec: {event: {${event}}, action: {workflow: w, workspace: s}}}`;
  const { documents, errors } = parseManifest("f.yaml", text);
  return [
    ...errors,
    ...documents.flatMap((document) =>
      readDocument(document.value, { kinds }).findings
        .map((one) => `${one.level} ${formatFinding(document, one)}`)
    ),
  ];
}

const FINE = [
  'source: cron, cron: {schedule: "*/5 9-17 * * 1-5"}',
  'source: cron, cron: {schedule: "0 3 * * *", timezone: America/New_York, catchUp: one}',
  "source: cron, cron: {schedule: 0 3 * * SUN, catchUp: all, catchUpWindowSecs: 86400}",
  'source: filesystem, filesystem: {paths: ["inbox/**/*.csv"]}',
  'source: filesystem, filesystem: {paths: ["*"], events: [create], ignore: [tmp/], debounceMs: 10}',
  "source: task, task: {workflow: build}",
  "source: task, task: {workflow: build, states: [failed, cancelled]}",
  "source: task, task: {states: [failed]}",
  "source: task, task: {labels: {team: web}}",
];

for (const event of FINE) {
  Deno.test(`a trigger with ${event} is fine`, () => deepEqual(said(event), []));
}

const REFUSED: readonly (readonly [event: string, says: RegExp])[] = [
  ["source: cron", /Source "cron" needs the block "cron" with its schedule/],
  ["source: cron, cron: {}", /schedule/],
  ['source: cron, cron: {schedule: "* * * *"}', /five fields/],
  ['source: cron, cron: {schedule: "0 * * * * *"}', /five fields/],
  ['source: cron, cron: {schedule: "@daily"}', /five fields/],
  ['source: cron, cron: {schedule: "61 * * * *"}', /is not a schedule/],
  ['source: cron, cron: {schedule: "0 0 31 2 *"}', /never occurs/],
  ['source: cron, cron: {schedule: "* * * * *", timezone: Mars/Olympus}', /not an IANA zone/],
  ['source: cron, cron: {schedule: "* * * * *", catchUp: some}', /catchUp/],
  ['source: cron, cron: {schedule: "* * * * *", catchUpWindowSecs: 60}', /write one or all/],
  ["source: filesystem", /needs the block "filesystem" with its paths/],
  ["source: filesystem, filesystem: {paths: []}", /paths/],
  ['source: filesystem, filesystem: {paths: ["/etc/passwd"]}', /leaves the workspace/],
  ['source: filesystem, filesystem: {paths: ["a/../../b"]}', /leaves the workspace/],
  ['source: filesystem, filesystem: {paths: ["*"], ignore: ["../x"]}', /ignore.*leaves the/],
  ['source: filesystem, filesystem: {paths: ["a[b"]}', /paths\[?\.?0.*"\[" is not closed/],
  ['source: filesystem, filesystem: {paths: ["{a,b"]}', /"\{" is not closed/],
  ['source: filesystem, filesystem: {paths: ["*"], events: [rename]}', /events/],
  ['source: filesystem, filesystem: {paths: ["*"], debounceMs: 1}', /debounceMs/],
  ["source: task", /needs the block "task", such as "task: \{states/],
  ["source: task, task: {workflow: build, states: [running]}", /states/],
  ['source: task, task: {workflow: "*"}', /the name of a workflow \(leave it out to mean any\)/],
  ["source: task, task: {labels: {}}", /labels with their values/],
  ["source: task, task: {workflow: build}, cron: {schedule: x}", /is for source "cron"/],
  ["source: carrier-pigeon", /source/],
];

for (const [event, says] of REFUSED) {
  Deno.test(`a trigger with ${event} is refused`, () => {
    const [first = ""] = said(event);
    match(first, says);
    match(first, /^error /);
  });
}

Deno.test("a task trigger refers to the workflow it follows, besides its own", () => {
  const spec = {
    event: { source: "task", task: { workflow: "build" } },
    action: { workflow: "deploy", workspace: "s" },
  };
  const names = trigger.references?.(spec).map(({ kind, name }) => `${kind} ${name}`);
  deepEqual(names, ["Workflow build", "Workflow deploy", "Workspace s"]);
});

Deno.test("Schedule remembers its last answer only for as long as it is right", () => {
  const schedule = new Schedule({ schedule: "*/10 * * * *", timezone: "UTC" });
  const at = (text: string) => Date.parse(`2026-01-01T${text}Z`);
  equal(schedule.next(at("00:00:00")), at("00:10:00"));
  equal(schedule.next(at("00:09:59")), at("00:10:00"));
  equal(schedule.next(at("00:10:00")), at("00:20:00"));
  equal(schedule.next(at("00:03:00")), at("00:10:00"));
  deepEqual(schedule.before(at("00:10:00"), 2), [at("00:00:00"), at("00:00:00") - 600_000]);
});
