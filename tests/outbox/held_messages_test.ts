/**
 * Messages that are held: people are told once, and then they go.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match } from "node:assert/strict";
import { HeldMessages } from "../../src/outbox/held_messages.ts";
import { createLog } from "../../src/base/log.ts";
import { EventHub } from "../../src/base/event_hub.ts";
import type { DaemonEvents } from "../../src/store/events.ts";
import { draft, outboxRig } from "../rigs/outbox_rig.ts";
import { until } from "../helpers/until.ts";

const HOUR = 3600_000;
const DAY = 24 * HOUR;

Deno.test("a held message is told of once, a day before it is dropped", async () => {
  await using rig = await outboxRig();
  const { clock, store } = rig;
  const outbox = rig.start();
  const [id = ""] = await outbox.enqueue([draft("a", { held: "always", taskId: "01TASK" })]);
  const log = createLog({ level: "warn", format: "json", clock, write: () => {} });
  const events = new EventHub<DaemonEvents>(log);
  const told: string[] = [];
  events.on("incidentHappened", ({ kind, connection, reason, taskId }) => {
    told.push([kind, connection, taskId, reason].join(" "));
  });
  const looks: number[] = [];
  const counted = {
    expireHeld: async (...args: Parameters<typeof store.expireHeld>) => {
      const found = await store.expireHeld(...args);
      looks.push(clock.now());
      return found;
    },
  };
  const open = () => new HeldMessages({ store: counted, events, clock, log });
  const look = async () => {
    const before = looks.length;
    await clock.advance(5 * 60_000);
    await until("both looks", () => looks.length > before + 1 || undefined);
  };
  const stateNow = async () => (await store.findMessages(id))[0]?.state;
  {
    await using _first = open();
    await using _other = open(); // of another daemon
    await look();
    deepEqual(told, []);
    clock.time += 6 * DAY;
    await look();
    await until("the incident", () => told.length > 0 || undefined); // told after the look
    match(told[0] ?? "", /^answer\.held tidepool 01TASK a test message waits .*\(always\)/);
    match(told[0] ?? "", new RegExp(`svc outbox send ${id} or svc outbox drop ${id}$`));
    clock.time += 20 * HOUR;
    await look();
    deepEqual([told.length, await stateNow()], [1, "held"]);
    clock.time += 5 * HOUR;
    await look();
  }
  deepEqual([told.length, await stateNow()], [1, "dropped"]);
  match((await store.findMessages(id))[0]?.reason ?? "", /^held for 7 days/);
  deepEqual(rig.sent, []);
});
