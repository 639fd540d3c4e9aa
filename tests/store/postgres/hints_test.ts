/**
 * Hints: what one daemon stores wakes those that wait for it in the others, as if they had stored it
 * themselves.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { systemClock } from "../../../src/base/clock.ts";
import { EventHub } from "../../../src/base/event_hub.ts";
import { withAnnouncements } from "../../../src/store/store_methods.ts";
import type { DaemonEvents } from "../../../src/store/events.ts";
import { Channel } from "../../../src/store/postgres/database/channel.ts";
import { ANYTHING, HINTED, WAKING } from "../../../src/store/postgres/hints/hinted_events.ts";
import { OutgoingHints, readHints } from "../../../src/store/postgres/hints/hints.ts";
import { Hints } from "../../../src/store/postgres/hints/hints.ts";
import { accept, idOf, taskIdOf } from "../../helpers/store_records.ts";
import { until } from "../../helpers/until.ts";
import { range } from "../contract/each_store.ts";
import { twoDaemonsTest } from "../../rigs/two_daemons.ts";

const clock = systemClock;
const log = { debug() {}, info() {}, warn() {}, error() {} };

type Told = readonly [name: string, data: unknown];

interface Side extends AsyncDisposable {
  readonly events: EventHub<DaemonEvents>;
  /** What was published on its hub since the last call, but for what it tells itself. */
  take(): readonly Told[];
  /** Waits until an event of this name was published, for the last time with this data if given. */
  heard(name: string, data?: unknown): Promise<void>;
}

/** A hub that is connected with all others over this database. */
function connect(url: string): Side {
  const events = new EventHub<DaemonEvents>(log);
  const told: Told[] = [];
  for (const name of HINTED) events.on(name, (data) => void told.push([name, data]));
  const hints = new Hints({ url, events, clock, log });
  const hasHeard = (name: string, data: unknown) =>
    told.some((one) =>
      one[0] === name && !isLook(one) && (data === undefined || isSame(one[1], data))
    );
  return {
    events,
    take: () => told.splice(0).filter((one) => !isLook(one)),
    heard: (name, data) => when(name, () => hasHeard(name, data)),
    [Symbol.asyncDispose]: () => hints[Symbol.asyncDispose](),
  };
}

const when = async (what: string, isSo: () => boolean | Promise<boolean>) =>
  void await until(what, async () => await isSo() || undefined);
const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

/** Waits until each of the two hears the other. */
async function acquaint(here: Side, there: Side): Promise<void> {
  const probe = { taskId: "probe" };
  for (const [one, other] of [[here, there], [there, here]] as const) {
    other.take();
    await when("a hint", async () => {
      one.events.publish("taskStopping", probe);
      await clock.pause(100);
      return other.take().some(([, data]) => isSame(data, probe));
    });
  }
  await clock.pause(100); // the last of the probes
  here.take();
  there.take();
}

/** What a daemon tells itself each second. */
const isLook = (told: Told) => WAKING.some((one) => isSame(one, told));

twoDaemonsTest(
  "a change of one daemon is announced to the other, and only to that",
  async ({ a, url }) => {
    await using here = connect(url);
    await using there = connect(url);
    await acquaint(here, there);
    const store = withAnnouncements(a, here.events);
    await accept(store, 1);
    const told = [
      ["recordsChanged", { record: "delivery", id: idOf(1) }],
      ["recordsChanged", { record: "task", id: taskIdOf(1) }],
    ];
    await there.heard("recordsChanged");
    deepEqual(there.take(), told);
    await store.addToInbox(taskIdOf(1), { text: "x" }, 5);
    await there.heard("inboxFilled");
    deepEqual(there.take(), [
      ["recordsChanged", { record: "task", id: taskIdOf(1) }],
      ["inboxFilled", { taskId: taskIdOf(1) }],
    ]);
    here.events.publish("logWritten", { taskId: "T" });
    await there.heard("logWritten");
    there.events.publish("resourcesStored", undefined);
    await here.heard("resourcesStored");
    const [first, second, ...rest] = here.take();
    deepEqual([first, second], told, "its own, once");
    deepEqual(rest.map(([name]) => name), [
      "recordsChanged",
      "inboxFilled",
      "logWritten",
      "resourcesStored",
    ]);
  },
);

twoDaemonsTest("events that come at once are one message, each of them once", async ({ url }) => {
  await using here = connect(url);
  const messages: string[] = [];
  const opened = Promise.withResolvers<void>();
  await using _other = new Channel({
    url,
    clock,
    onMessage: (message) => void messages.push(message),
    onOpen: opened.resolve,
    onLost: opened.reject,
  });
  await opened.promise;
  await when("a hint", async () => {
    here.events.publish("taskStopping", {});
    await clock.pause(100);
    return messages.splice(0).length > 0;
  });
  await clock.pause(100); // the last of the probes
  messages.length = 0;
  for (const n of range(0, 100)) {
    here.events.publish("messagesStored", undefined);
    here.events.publish("recordsChanged", { record: "task", id: `${n % 10}` });
  }
  await when("a message", () => messages.length > 0);
  deepEqual([messages.length, messages.flatMap(readHints).length], [1, 11]);
  for (const n of range(0, 1000)) here.events.publish("logWritten", { taskId: `${n}` });
  await when("that there are too many", () => messages.at(-1) === "*");
  await clock.pause(100);
  messages.length = 0;
  here.events.publish("recordsChanged", { record: "delivery", id: "D" });
  for (const _ of range(0, 20)) await Promise.resolve(); // what is sent at once is on its way now
  here.events.publish("taskStopping", {});
  await when("a message", () => messages.length > 0);
  const names = messages.flatMap(readHints).map(([name]) => name);
  deepEqual(names, ["recordsChanged", "taskStopping"], "what is only shown waits for company");
});

twoDaemonsTest(
  "a connection that is lost comes back, and nothing is taken for granted",
  async (daemons) => {
    const { url, sql } = daemons;
    await using here = connect(url);
    await using there = connect(url);
    await acquaint(here, there);
    const cut = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name = 'svc hints' AND datname = current_database()`;
    await sql((db) => db.exec(cut));
    here.events.publish("logWritten", { taskId: "T" });
    await there.heard("resourcesStored");
    await acquaint(here, there);
  },
);

twoDaemonsTest("each daemon looks for itself, too", async ({ url }) => {
  await using here = connect(url);
  const wakings: string[] = [];
  for (const [name] of WAKING) here.events.on(name, () => void wakings.push(name));
  await when("two looks", () => wakings.length >= 2 * WAKING.length);
  deepEqual(wakings.slice(0, WAKING.length), WAKING.map(([name]) => name));
});

Deno.test("hints that are too many or too long say that anything may have changed", () => {
  const outgoing = new OutgoingHints();
  equal(outgoing.take(), undefined);
  outgoing.add("logWritten", { taskId: "é".repeat(4000) });
  equal(outgoing.take(), "*");
  outgoing.add("resourcesStored", undefined);
  deepEqual(readHints(outgoing.take() ?? ""), [["resourcesStored", undefined]]);
  deepEqual(readHints("*"), ANYTHING);
  deepEqual(readHints("{"), ANYTHING);
  deepEqual(readHints('[["ofAnotherVersion",1],["messagesStored",null]]'), [
    ["messagesStored", undefined],
  ]);
});
