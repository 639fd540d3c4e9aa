/**
 * The source `cron`: at its times and at no others, once each, whatever the clock does and whatever
 * happens in between.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { rfc3339 } from "../../src/base/clock.ts";
import { AppError } from "../../src/base/errors.ts";
import { CronSource } from "../../src/intake/schedule/cron.ts";
import type { Store } from "../../src/store/store.ts";
import { BASE, type SourceRig, sourceRig, triggerOf } from "../rigs/source_rig.ts";
import { NOT_SLOW } from "../helpers/program.ts";
import { skippable } from "../helpers/requirements.ts";

/** Lines of the log that say that something failed. */
function errorsOf(rig: SourceRig): readonly string[] {
  return rig.logged.filter((line) => line.includes('"level":"error"'));
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** When every test begins: just after a full minute. */
const START = Date.parse("2026-01-02T03:04:00.500Z");

const cron = (schedule: string, more = "") =>
  triggerOf(
    "tick",
    `source: cron, cron: {schedule: "${schedule}"${more === "" ? "" : `, ${more}`}}`,
  );

/** A rig whose clock stands at {@linkcode START}, with one trigger. */
async function rigWith(trigger: string): Promise<SourceRig> {
  const rig = await sourceRig(BASE);
  rig.clock.time = START;
  rig.apply(trigger);
  return rig;
}

/** A source that has planned. */
async function started(rig: SourceRig): Promise<CronSource> {
  const source = new CronSource(rig.host);
  await source.settled();
  return source;
}

/** Sets the clock and looks. */
async function at(rig: SourceRig, source: CronSource, time: number): Promise<void> {
  rig.clock.time = time;
  source.poll();
  await source.settled();
}

/** Goes on in steps of a second. */
async function goOn(rig: SourceRig, source: CronSource, secs: number): Promise<void> {
  for (let i = 0; i < secs; i++) await at(rig, source, rig.clock.time + 1000);
}

/** The times that have fired, as they were meant. */
async function fired(rig: SourceRig): Promise<readonly string[]> {
  const payloads = await rig.payloads() as { scheduled_at: string }[];
  return payloads.map(({ scheduled_at }) => scheduled_at);
}

/** Times a minute apart, as payloads say them. */
function minutes(from: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => rfc3339(Date.parse(from) + i * MINUTE));
}

Deno.test("cron fires at its times, and leaves a delivery and a task for each", async () => {
  await using rig = await rigWith(cron("* * * * *"));
  await using source = await started(rig);
  await goOn(rig, source, 125);
  deepEqual(await rig.payloads(), [
    { scheduled_at: "2026-01-02T03:05:00.000Z", fired_at: "2026-01-02T03:05:00.500Z" },
    { scheduled_at: "2026-01-02T03:06:00.000Z", fired_at: "2026-01-02T03:06:00.500Z" },
  ]);
  const deliveries = await rig.deliveries();
  deepEqual(
    deliveries.map(({ source, outcome, status, remote }) => ({ source, outcome, status, remote })),
    Array(2).fill({ source: "cron", outcome: "accepted", status: 0, remote: "" }),
  );
  deepEqual(deliveries.map(({ taskId }) => taskId), (await rig.tasks()).map(({ id }) => id));
  equal(rig.kicks.count, 2);
});

Deno.test("cron passes its filter, and records what a suspended trigger would have started", async () => {
  const filter = 'filter: {condition: "payload.scheduled_at.endsWith(\\"06:00.000Z\\")"}';
  await using rig = await rigWith(
    triggerOf("some", `source: cron, cron: {schedule: "* * * * *"}, ${filter}`) +
      triggerOf("none", 'source: cron, cron: {schedule: "5 * * * *"}', "suspend: true"),
  );
  await using source = await started(rig);
  await goOn(rig, source, 125);
  const found = (await rig.deliveries()).map(({ trigger, outcome }) => `${trigger} ${outcome}`);
  deepEqual(found.toSorted(), ["none skipped", "some accepted", "some filtered"]);
  equal((await rig.tasks()).length, 1);
});

Deno.test("cron does not fire for times from before its trigger was made", async () => {
  await using rig = await rigWith(cron("* * * * *", "catchUp: all"));
  rig.clock.time = START + 3 * HOUR; // the daemon looks long after the apply
  rig.apply(cron("* * * * *", "catchUp: all").replace("tick", "other"));
  await using source = await started(rig);
  await goOn(rig, source, 60);
  const byOther = (await rig.deliveries()).filter(({ trigger }) => trigger === "other");
  equal(byOther.length, 1);
});

Deno.test("a clock set an hour back repeats nothing", async () => {
  await using rig = await rigWith(cron("*/10 * * * *"));
  await using source = await started(rig);
  for (let i = 0; i < 90; i++) await at(rig, source, rig.clock.time + MINUTE);
  const before = await fired(rig);
  equal(before.length, 9);
  rig.clock.time -= HOUR;
  for (let i = 0; i < 60; i++) await at(rig, source, rig.clock.time + MINUTE);
  deepEqual(await fired(rig), before);
  equal((await rig.tasks()).length, 9);
  for (let i = 0; i < 10; i++) await at(rig, source, rig.clock.time + MINUTE);
  equal((await fired(rig)).length, 10);
  deepEqual(errorsOf(rig), []);
});

Deno.test("a clock that jumps to and fro makes up for no time that it has passed before", async () => {
  await using rig = await rigWith(cron("*/10 * * * *", "catchUp: all, catchUpWindowSecs: 86400"));
  await using source = await started(rig);
  await at(rig, source, START + 6 * MINUTE); // 03:10
  for (let i = 0; i < 3; i++) {
    await at(rig, source, START - 2 * HOUR);
    await at(rig, source, START + 10 * MINUTE); // before and after the trigger was made
  }
  deepEqual(await fired(rig), ["2026-01-02T03:10:00.000Z"]);
  await at(rig, source, START - 2 * HOUR);
  await at(rig, source, START + 30 * MINUTE);
  deepEqual(await fired(rig), [
    "2026-01-02T03:10:00.000Z",
    "2026-01-02T03:20:00.000Z",
    "2026-01-02T03:30:00.000Z",
  ]);
});

for (const [catchUp, expected] of [["none", 0], ["one", 1], ["all", 6]] as const) {
  Deno.test(`a clock set a day forward is no storm, catchUp ${catchUp}`, async () => {
    await using rig = await rigWith(cron("*/10 * * * *", `catchUp: ${catchUp}`));
    await using source = await started(rig);
    await at(rig, source, START + DAY + 5 * MINUTE); // 03:09
    equal((await fired(rig)).length, expected);
    await goOn(rig, source, 60);
    equal((await fired(rig)).length, expected + 1); // 03:10
    // And back: the times that come now have not been, and fire.
    await at(rig, source, START);
    await at(rig, source, START + 6 * MINUTE);
    equal((await fired(rig)).length, expected + 2);
    equal((await rig.tasks()).length, expected + 2);
  });
}

Deno.test("cron fires a time that is at most a minute late, whatever catchUp says", async () => {
  await using rig = await rigWith(cron("5 * * * *"));
  await using source = await started(rig);
  await at(rig, source, START + 119_500); // 03:06:00
  deepEqual(await fired(rig), ["2026-01-02T03:05:00.000Z"]);
});

Deno.test("cron does not make up for a missed time by itself", async () => {
  await using rig = await rigWith(cron("5 * * * *"));
  await using source = await started(rig);
  await at(rig, source, START + 119_501);
  deepEqual(await fired(rig), []);
  match(rig.logged.join("\n"), /a cron trigger missed scheduled times/);
});

/** What is made up for after a night in which the daemon was away: 03:04 to 11:04. */
const CATCH_UPS: readonly (readonly [more: string, schedule: string, fired: readonly string[]])[] =
  [
    ["catchUp: none", "0 * * * *", []],
    ["catchUp: one", "0 * * * *", ["2026-01-02T11:00:00.000Z"]],
    ["catchUp: one", "30 5 * * *", []], // not inside the window, which is an hour
    ["catchUp: one, catchUpWindowSecs: 36000", "30 5 * * *", ["2026-01-02T05:30:00.000Z"]],
    ["catchUp: all", "30 * * * *", ["2026-01-02T10:30:00.000Z"]],
    ["catchUp: all, catchUpWindowSecs: 10800", "30 * * * *", [
      "2026-01-02T08:30:00.000Z",
      "2026-01-02T09:30:00.000Z",
      "2026-01-02T10:30:00.000Z",
    ]],
  ];

for (const [more, schedule, expected] of CATCH_UPS) {
  Deno.test(`after downtime cron ${schedule} with ${more} fires ${expected.length}, once`, async () => {
    await using rig = await rigWith(cron(schedule, more));
    await (await started(rig))[Symbol.asyncDispose]();
    rig.clock.time = START + 8 * HOUR;
    await (await started(rig))[Symbol.asyncDispose]();
    deepEqual(await fired(rig), expected);
    await (await started(rig))[Symbol.asyncDispose]();
    deepEqual(await fired(rig), expected);
  });
}

Deno.test(
  skippable("cron makes up for at most 1,000 times, the newest, oldest first", NOT_SLOW),
  async () => {
    await using rig = await rigWith(cron("* * * * *", "catchUp: all, catchUpWindowSecs: 172800"));
    await (await started(rig))[Symbol.asyncDispose]();
    rig.clock.time = START + 2 * DAY;
    await using _source = await started(rig);
    deepEqual(await fired(rig), minutes("2026-01-03T10:24:00Z", 1001)); // and the one that is on time
    const tasks = await rig.tasks();
    deepEqual(
      tasks.map(({ deliveryId }) => deliveryId),
      (await rig.deliveries()).map(({ id }) => id),
    );
  },
);

Deno.test("skipped times stay skipped when catchUp is changed later", async () => {
  await using rig = await rigWith(cron("0 * * * *"));
  await (await started(rig))[Symbol.asyncDispose]();
  rig.clock.time = START + 8 * HOUR;
  await (await started(rig))[Symbol.asyncDispose]();
  rig.apply(cron("0 * * * *", "catchUp: all, catchUpWindowSecs: 86400"));
  await using _source = await started(rig);
  deepEqual(await fired(rig), []);
});

Deno.test("a changed schedule fires for no time from before the change", async () => {
  await using rig = await rigWith(cron("0 0 1 1 *"));
  const source = await started(rig);
  await at(rig, source, START + 30 * MINUTE);
  rig.apply(cron("*/5 * * * *", "catchUp: all"));
  await at(rig, source, START + 30 * MINUTE + 900);
  await at(rig, source, START + 31 * MINUTE); // 03:35
  await source[Symbol.asyncDispose]();
  await (await started(rig))[Symbol.asyncDispose]();
  deepEqual(await fired(rig), ["2026-01-02T03:35:00.000Z"]);
});

Deno.test("another change of a trigger loses no time that is due", async () => {
  await using rig = await rigWith(cron("5 * * * *"));
  await using source = await started(rig);
  rig.clock.time = START + 59_600; // 100 ms after it came due, and not looked at yet
  rig.apply(triggerOf("tick", 'source: cron, cron: {schedule: "5 * * * *"}', "suspend: true"));
  await at(rig, source, START + 60_000);
  deepEqual(await fired(rig), ["2026-01-02T03:05:00.000Z"]);
});

Deno.test("cron fires no trigger that is gone, or has another source now", async () => {
  await using rig = await rigWith(
    cron("* * * * *") + cron("* * * * *").replace("tick", "changed"),
  );
  await using source = await started(rig);
  await goOn(rig, source, 60);
  equal((await fired(rig)).length, 2);
  rig.remove("tick");
  rig.apply(triggerOf("changed", "source: webhook, webhook: {allowUnsigned: true}"));
  await goOn(rig, source, 120);
  equal((await fired(rig)).length, 2);
});

Deno.test("a trigger that becomes one of cron again does not make up for the time between", async () => {
  await using rig = await rigWith(cron("* * * * *", "catchUp: all"));
  await using source = await started(rig);
  await goOn(rig, source, 60);
  rig.apply(triggerOf("tick", "source: webhook, webhook: {allowUnsigned: true}"));
  await at(rig, source, START + 30 * MINUTE);
  rig.apply(cron("* * * * *", "catchUp: all"));
  await goOn(rig, source, 60);
  deepEqual(await fired(rig), [
    "2026-01-02T03:05:00.000Z",
    "2026-01-02T03:35:00.000Z",
  ]);
});

Deno.test("a crash between two times neither loses nor repeats one", async () => {
  await using rig = await rigWith(cron("* * * * *"));
  for (let i = 0; i < 10; i++) {
    const source = await started(rig);
    await at(rig, source, rig.clock.time + 20_000);
    await source[Symbol.asyncDispose]();
  }
  deepEqual(await fired(rig), minutes("2026-01-02T03:05:00Z", 3));
});

Deno.test("cron tries again when the store is overloaded, and loses nothing", async () => {
  await using rig = await rigWith(cron("* * * * *"));
  await using source = await started(rig);
  let refusals = 3;
  rig.broken.recordDelivery = ((delivery) => {
    if (refusals-- > 0) return Promise.reject(new AppError("overloaded", "The disk is full"));
    return rig.store.recordDelivery(delivery);
  }) satisfies Store["recordDelivery"];
  await at(rig, source, START + MINUTE);
  deepEqual(await fired(rig), ["2026-01-02T03:05:00.000Z"]);
  equal(refusals, -1);
});

Deno.test("cron plans again when cursors cannot be read", async () => {
  await using rig = await rigWith(cron("* * * * *"));
  rig.broken.findCursor = () => Promise.reject(new AppError("overloaded", "The disk is full"));
  await using source = await started(rig);
  rig.broken.findCursor = rig.store.findCursor;
  await at(rig, source, START + 1000);
  await at(rig, source, START + MINUTE);
  deepEqual(await fired(rig), ["2026-01-02T03:05:00.000Z"]);
});

/** Days on which clocks change: every minute of them has to come once. */
const CHANGES = [
  ["Europe/Berlin", "2026-03-29T00:00:00Z"],
  ["Europe/Berlin", "2026-10-25T00:00:00Z"],
  ["America/New_York", "2026-03-08T06:00:00Z"],
  ["America/New_York", "2026-11-01T05:00:00Z"],
] as const;

for (const [timezone, from] of CHANGES) {
  Deno.test(`cron fires once for each minute of ${from.slice(0, 10)} in ${timezone}`, async () => {
    await using rig = await sourceRig(BASE);
    rig.clock.time = Date.parse(from) - 1;
    rig.apply(cron("* * * * *", `timezone: ${timezone}`));
    await using source = await started(rig);
    for (let i = 0; i < 180; i++) await at(rig, source, Date.parse(from) + i * MINUTE);
    deepEqual(await fired(rig), minutes(from, 180));
  });
}

Deno.test("many triggers of one minute all fire, each once", async () => {
  const names = Array.from({ length: 300 }, (_, i) => `tick-${i}`);
  await using rig = await rigWith(
    names.map((name) => cron("* * * * *").replace("tick", name)).join(""),
  );
  await using source = await started(rig);
  await goOn(rig, source, 61);
  const triggers = (await rig.deliveries()).map(({ trigger }) => trigger);
  deepEqual(triggers.toSorted(), names.toSorted());
});
