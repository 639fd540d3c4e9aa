/**
 * Calls that record deliveries: with every sort of limit that their events may have.
 *
 * @module
 */

import type { Delivery, NewDelivery } from "../../../src/store/delivery_records.ts";
import { admitted } from "../../helpers/admitted.ts";
import { eventOf, idOf, newDelivery, PLAN, STEPS } from "../../helpers/store_records.ts";
import { type Call, call, DEDUP_WINDOW_MS, type World } from "./world.ts";

const OTHER_PLAN = {
  hash: "h2",
  json: JSON.stringify({
    steps: [{ id: "only" }],
    workspace: { path: "workspaces/default" },
    finally: STEPS.map((id) => ({ id: `after ${id}` })),
  }),
};

/** A new task of an event, with limits of its own. */
export function someEvent(
  world: World,
  of: { readonly project: string; readonly trigger: string },
): NewDelivery["events"][number] {
  const { random } = world;
  if (random.once(8)) {
    const outcome = random.pick(["filtered", "skipped"]);
    return admitted({ outcome, reason: random.pick(["", "the condition is false", "a\0b"]) });
  }
  const id = world.nextTask();
  const plan = random.once(12) ? undefined : random.pick([PLAN, PLAN, OTHER_PLAN]);
  return eventOf(0, {
    ...of,
    taskId: id,
    plan,
    ...random.maybe(4, "payload", () => new TextEncoder().encode(`{"of":"${id}"}`)),
    task: {
      workflow: random.pick(["ci", "ci", "release"]),
      workspace: random.pick(["repo", "repo", "site"]),
      ...random.maybe(3, "dedupKey", () => `k${random.below(4)}`),
      ...random.maybe(5, "debounce", () => ({
        key: random.pick(["", "a"]),
        forMs: random.pick([0, 100, 2000]),
      })),
      ...random.maybe(3, "concurrency", () => ({
        policy: random.pick(["Forbid", "Replace", "Queue", "Queue"]),
        key: random.pick(["", "b"]),
        max: 1 + random.below(2),
      })),
      ...random.maybe(6, "rateLimit", () => ({
        perMinute: random.pick([5, 60, 600]),
        reject: random.once(2),
      })),
      ...random.maybe(4, "conversation", () => ({
        name: "pr",
        key: random.pick(["a", "b"]),
        message: { delivery_id: "d", text: `of ${id}\0` },
        starts: !random.once(4),
        ...random.maybe(
          4,
          "follows",
          () => ({ taskId: world.someTask(), position: random.below(4) }),
        ),
      })),
      ...random.maybe(3, "workspaceMax", () => 1 + random.below(3)),
      ...random.maybe(4, "followed", () => true),
      ...random.maybe(8, "parentId", () => world.someTask()),
      ...random.maybe(8, "depth", () => random.below(4)),
      ...random.maybe(8, "trace", () => "00-1-2-01"),
    },
  });
}

/** The delivery of an event, or of a batch of them. */
function someDelivery(world: World): NewDelivery {
  const { random, now } = world;
  const of = {
    project: random.pick(["default", "default", "shop"]),
    trigger: random.pick(["push", "push", "nightly"]),
  };
  const n = world.next();
  world.deliveries.push(idOf(n));
  const count = random.once(6) ? 2 + random.below(3) : 1;
  const events = Array.from({ length: count }, () => someEvent(world, of));
  const again = random.once(15) ? random.recent(world.deliveries, idOf(n)) : undefined;
  const made = newDelivery(n, {
    ...of,
    receivedAt: now,
    headers: random.pick([{}, { "x-id": `v${n}`, odd: "\0\u{d800}" }]),
    ...random.maybe(12, "body", () => new Uint8Array([0, 255, n % 256])),
    ...random.maybe(10, "cursor", () => ({ name: "cron", at: now })),
    ...(again === undefined ? {} : { once: true }),
  }, events);
  const id = again ?? made.delivery.id;
  const { dedupKeepMs } = world;
  const times = { dedupKeepMs, dedupWindowMs: DEDUP_WINDOW_MS };
  return Object.assign(made, times, { delivery: { ...made.delivery, id } });
}

/** One call, or several that are made at once and share a batch. */
export function recordDelivery(world: World): readonly Call[] {
  const count = world.random.once(6) ? 2 + world.random.below(6) : 1;
  return Array.from({ length: count }, () => call("recordDelivery", someDelivery(world)));
}

/** One request that several triggers get. */
export function recordDeliveries(world: World): readonly Call[] {
  const parts = Array.from({ length: 1 + world.random.below(3) }, () => someDelivery(world));
  const [{ content, dedupKeepMs, dedupWindowMs }] = parts as [NewDelivery];
  const deliveries = parts.map(({ delivery, events }) => ({ delivery, events }));
  return [call("recordDeliveries", { content, dedupKeepMs, dedupWindowMs, deliveries })];
}

/** A handshake, or requests that were rejected. */
export function recordOthers(world: World): readonly Call[] {
  const { random } = world;
  const reason = random.pick(["no_key_matches", "Too Old", ""]);
  const { delivery, content } = someDelivery(world);
  const others = { status: random.pick([200, 401]), reason, taskId: "" };
  if (random.once(2)) {
    const handshake: Delivery = { ...delivery, ...others, outcome: "handshake" };
    return [call("recordHandshake", handshake, content)];
  }
  const rejected = Array.from({ length: 1 + random.below(4) }, () => {
    const one = someDelivery(world).delivery;
    const outcome = random.pick(["rejected", "rejected", "handshake"]);
    return {
      delivery: { ...one, ...others, outcome },
      ...(random.once(2) ? { content } : {}),
    };
  });
  return [call("recordRejections", rejected, { records: 4, contents: 2 })];
}
