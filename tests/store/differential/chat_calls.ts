/**
 * Calls for the events of chat platforms: they arrive, are routed, and bind threads to tasks.
 *
 * @module
 */

import type { NewSourceEvent, Routing } from "../../../src/store/source_event_records.ts";
import { eventIdOf, sourceEvent } from "../../helpers/source_event_records.ts";
import { idOf } from "../../helpers/store_records.ts";
import { someEvent } from "./event_calls.ts";
import { type Call, call, DEDUP_WINDOW_MS, type World } from "./world.ts";

const CHAT = { project: "default", trigger: "chat" };

/** Something that happens in a chat, or to its events. */
export function chat(world: World): Call {
  const { random, now } = world;
  const id = random.recent([...world.routing.keys()], "");
  return random.pick<() => Call>([
    () => call("recordSourceEvent", someSourceEvent(world)),
    () => call("recordSourceEvent", someSourceEvent(world)),
    () => claimEvents(world),
    () => id === "" ? claimEvents(world) : call("routeSourceEvent", id, someRoute(world, id), now),
    () => id === "" ? claimEvents(world) : call("routeSourceEvent", id, someRoute(world, id), now),
    () =>
      id === "" ? claimEvents(world) : call("postponeSourceEvent", id, {
        reason: "the platform does not answer",
        counts: random.once(2),
        ...random.maybe(2, "dueAt", () => now + random.below(500)),
      }),
    () => call("replaySourceEvent", random.recent(world.events, ""), now),
    () => call("bindThread", someBinding(world)),
  ])();
}

function someSourceEvent(world: World): NewSourceEvent {
  const { random, now } = world;
  const n = world.next();
  world.events.push(eventIdOf(n));
  world.deliveries.push(idOf(n));
  return {
    ...sourceEvent(n, {
      threadId: random.pick(["", "T1", "T2"]),
      postId: random.pick(["", `${n}`, "post"]),
      topLevel: random.once(2),
      externalEventId: random.once(8) ? "Ev" : `Ev${n}`,
      text: "hello\0",
      occurredAt: now,
      receivedAt: now,
    }),
    ...random.maybe(8, "ignored", () => "a bot"),
    ...random.maybe(3, "payload", () => new TextEncoder().encode(`{"n":${n}}`)),
  };
}

function claimEvents(world: World): Call {
  const { random, now } = world;
  return call("claimSourceEvents", {
    limit: 1 + random.below(3),
    now,
    staleMs: 1e9, // how many stale claims come back at once is up to the store
    ...(random.once(5) ? {} : { routing: [...world.routing.keys()] }),
    ...random.maybe(8, "busy", () => ["default/chat"]),
  });
}

function someRoute(world: World, id: string): Routing {
  const { random } = world;
  const bound = world.routing.get(id);
  const boundTo = bound === undefined || random.once(8) ? {} : { boundTo: bound };
  const task = (): Routing => ({
    to: "task",
    decision: someEvent(world, CHAT),
    bind: !random.once(4),
    dedupWindowMs: DEDUP_WINDOW_MS,
    dedupKeepMs: world.dedupKeepMs,
    ...random.maybe(3, "strays", () => "no"),
    ...boundTo,
  });
  return random.pick<() => Routing>([
    task,
    bound === undefined
      ? task
      : () => ({ to: "inbox", taskId: bound, message: { of: id }, ...boundTo }),
    () => ({
      to: "nowhere",
      state: random.pick(["ignored", "needs_attention", "failed"]),
      reason: random.pick(["no", "stray\0"]),
      ...boundTo,
    }),
  ])();
}

function someBinding(world: World) {
  const { random, now } = world;
  return {
    ...CHAT,
    id: eventIdOf(world.next()),
    installationId: "A1/T1",
    conversationId: "C1",
    threadId: random.pick(["T1", "T2", "T3"]),
    taskId: world.someTask(),
    updatedAt: now,
  };
}
