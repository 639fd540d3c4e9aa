/**
 * Calls of the outbox.
 *
 * @module
 */

import type {
  CountedOutput,
  MessageResult,
  NewMessage,
} from "../../../src/store/outbox_records.ts";
import { type Call, call, type World } from "./world.ts";

const DAY_MS = 24 * 3600_000;

/** A message to one of a few targets, by itself or with a key. */
export function someMessage(world: World): NewMessage {
  const { random, now } = world;
  const id = `01M${String(world.next()).padStart(23, "0")}`;
  world.messages.push(id);
  return {
    id,
    project: random.pick(["default", "shop"]),
    connection: random.pick(["", "c"]),
    kind: random.pick(["github-comment", "slack-post"]),
    target: { issue: random.below(2) },
    key: random.pick(["", "k"]),
    body: { text: `${id}\0` },
    taskId: random.once(2) ? "" : world.someTask(),
    ...(random.once(4) ? { held: "by rule\0" } : {}),
    ...(random.once(3) ? { counted: someCount(world) } : {}),
    ...(random.once(4)
      ? { content: { pack: [new Uint8Array([1, 2]), new Uint8Array([3])], patch: [] } }
      : {}),
    now,
  };
}

function someCount({ random }: World): CountedOutput {
  const rounds = { place: random.pick(["o/r#1", "o/r#2\0"]), most: 3, byPerson: random.once(4) };
  return {
    output: random.pick(["pull", "push"]),
    unit: random.pick(["a", "b\0", "c"]),
    max: 1 + random.below(2),
    ...(random.once(2) ? { rounds } : {}),
  };
}

/** Something that happens to messages. */
export function sendMessages(world: World): Call {
  const { random, now } = world;
  const id = random.recent(world.messages, "");
  const sending = random.recent([...world.sending.keys()], "");
  return random.pick<() => Call>([
    () =>
      call(
        "addToOutbox",
        random.once(3) ? [someMessage(world), someMessage(world)] : [someMessage(world)],
      ),
    () => call("addToOutbox", [someMessage(world)]),
    () => claim(world),
    () => claim(world),
    () => sending === "" ? claim(world) : call("finishMessage", sending, someResult(world), now),
    () => sending === "" ? claim(world) : call("finishMessage", sending, someResult(world), now),
    () => call("retryMessage", id, { now, forget: random.once(2) }),
    () => call("retryMessage", id, { now, forget: false, through: someMessage(world) }),
    () => call("dropMessage", id, { reason: "not wanted", now }),
    () => call("releaseMessage", id, now),
    () => call("expireHeld", { now: now + random.below(9) * DAY_MS, reason: "held", limit: 99 }),
    () => call("readContent", id, "pack", random.below(3)),
    () => call("listOutputs", world.someTask()),
  ])();
}

function claim({ now, sending }: World): Call {
  return call("claimMessages", {
    limit: 99, // what is counted in it, messages or lanes, is up to the store
    now,
    busy: [...new Set(sending.values())],
  });
}

function someResult({ random, now }: World): MessageResult {
  return random.pick<() => MessageResult>([
    () => ({ state: "sent", externalId: random.pick(["", "e1"]) }),
    () => ({ state: "failed", reason: "refused\0", certain: random.once(2) }),
    () => ({
      state: "pending",
      reason: "later",
      nextAt: now + random.below(1000),
      certain: random.once(2),
    }),
  ])();
}
