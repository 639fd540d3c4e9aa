/**
 * Events of a chat platform to fill a store with.
 *
 * @module
 */

import type { NewSourceEvent, SourceEventFacts } from "../../src/store/source_event_records.ts";
import { idOf } from "./store_records.ts";

/** The id of event `n`; sorts as its number does. */
export function eventIdOf(n: number): string {
  return `01G00000000000000000${String(n).padStart(6, "0")}`;
}

/** Event `n`, a reply in a thread of its own unless something else is said. */
export function sourceEvent(n: number, facts: Partial<SourceEventFacts> = {}): NewSourceEvent {
  const event: SourceEventFacts = {
    id: eventIdOf(n),
    project: "default",
    trigger: "chat",
    provider: "slack",
    installationId: "A1/T1",
    externalEventId: `Ev${n}`,
    deliveryId: idOf(n),
    kind: "message",
    actor: "U1",
    conversationId: "C1",
    threadId: `thread ${n}`,
    postId: `${n}`,
    topLevel: false,
    text: `text ${n}`,
    occurredAt: n,
    receivedAt: n,
    ...facts,
  };
  const { project, trigger, receivedAt } = event;
  return {
    event,
    delivery: {
      id: event.deliveryId,
      project,
      trigger,
      source: "slack",
      via: "chat",
      receivedAt,
      status: 200,
      remote: "192.0.2.1",
      secretStore: "slack",
      secretKey: "signing_secret",
      bodyBytes: 2,
      durationMs: 1,
      detail: { headerNames: [], stages: {} },
    },
    content: { headers: {}, body: new TextEncoder().encode("{}"), url: "" },
  };
}
