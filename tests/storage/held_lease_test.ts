/**
 * What a daemon is told of its lease, and when.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { EventHub } from "../../src/base/event_hub.ts";
import { HealthConditions } from "../../src/base/health_conditions.ts";
import { HeldLease } from "../../src/storage/held_lease.ts";
import type { DaemonEvents } from "../../src/store/events.ts";
import { ManualClock } from "../helpers/manual_clock.ts";

function rig() {
  const clock = new ManualClock();
  const health = new HealthConditions();
  const events = new EventHub<DaemonEvents>({ error() {} });
  const told: unknown[] = [];
  const note = (name: keyof DaemonEvents) =>
    events.on(name, (data) => void told.push([name, data]));
  for (const name of ["leaseEnded", "leaseRegained", "taskStopping", "claimsLost"] as const) {
    note(name);
  }
  const beats: (number | undefined)[] = [];
  const guard = { beat: (agoMs?: number) => void beats.push(agoMs) };
  const logged: string[] = [];
  const log = {
    info: (message: string) => void logged.push(`info ${message}`),
    warn: (message: string) => void logged.push(`warn ${message}`),
    debug: () => {},
    error: () => {},
  };
  const lease = new HeldLease({
    clock,
    events,
    health,
    log,
    guard,
    place: "db",
    reliableMs: 6000,
  });
  return { clock, health, lease, told, beats, logged };
}

Deno.test("a lease is over when its time is, even if nobody has said so yet", async () => {
  const { clock, health, lease, told, beats } = rig();
  equal(lease.isOver(), false, "before the first answer");
  lease.onRenewed(1000);
  await clock.advance(4999);
  equal(lease.isOver(), false);
  await clock.advance(1);
  equal(lease.isOver(), true);
  deepEqual(told, [["leaseEnded", undefined]], "before isOver returns");
  equal(health.list().length, 1);
  lease.onLost();
  deepEqual(told.length, 1, "once");
  deepEqual(beats, [1000]);
});

Deno.test("a lease that is renewed after all holds again, unless the answer came too late", async () => {
  const { clock, health, lease, told, beats, logged } = rig();
  lease.onRenewed(0);
  lease.onLost();
  lease.onRenewed(6000);
  equal(lease.isOver(), true);
  lease.onRenewed(5999);
  equal(lease.isOver(), false);
  deepEqual(health.list(), []);
  deepEqual(told.map((one) => (one as string[])[0]), ["leaseEnded", "leaseRegained"]);
  deepEqual(beats, [0, 6000, 5999]);
  deepEqual(logged, [
    "warn the lease of this node has expired, stopping all work here",
    "info this node has its lease again",
  ]);
  await clock.advance(1);
  equal(lease.isOver(), true);
});

Deno.test("what the store hears of tasks is told", () => {
  const { lease, told } = rig();
  lease.onCancelled([{ id: "a", reason: "why" }]);
  lease.onClaimsLost(["b"]);
  deepEqual(told, [
    ["taskStopping", { taskId: "a", reason: "why" }],
    ["claimsLost", { taskIds: ["b"] }],
  ]);
});

Deno.test("clocks that differ are degraded until they agree", () => {
  const { health, lease } = rig();
  lease.onClock(-1900);
  deepEqual(health.list(), []);
  lease.onClock(-2100);
  deepEqual(health.list(), [
    "The clock of PostgreSQL at db is 2.1 s behind this machine's: set both by NTP",
  ]);
  lease.onClock(300);
  deepEqual(health.list(), []);
});
