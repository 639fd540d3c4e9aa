/**
 * Where an event of a chat belongs: to the task of its thread, to a new task, or
 * nowhere. Pure; what is not clear is left to a person.
 *
 * @module
 */

import type {
  BoundTask,
  ClaimedSourceEvent,
  SourceEventState,
} from "../../store/source_event_records.ts";
import type { SlackEvent } from "./normalise.ts";

/** Where an event belongs. */
export type Route =
  | { readonly to: "nowhere"; readonly state: SourceEventState; readonly reason: string }
  | { readonly to: "inbox"; readonly taskId: string }
  | { readonly to: "follow-up"; readonly parentId: string }
  | { readonly to: "task"; readonly bind: boolean };

/** What is known when an event is to be routed. */
export interface RouteFacts extends Pick<ClaimedSourceEvent, "event" | "bound" | "rootIsOpen"> {
  /** What its payload says. */
  readonly said: Pick<SlackEvent, "ignored" | "isMention">;
  /** Whether its trigger has a condition. */
  readonly hasFilter: boolean;
}

/** Why a reply is ignored whose thread nobody has begun that we know of. */
export const STRAY = "a reply in a thread that belongs to no task";

/** Where an event belongs; that it passes the filter of a trigger is looked at after this. */
export function chooseRoute(facts: RouteFacts): Route {
  const { event, said, bound } = facts;
  if (said.ignored !== undefined) return nowhere("ignored", said.ignored);
  if (bound !== undefined) return inBoundThread(facts, bound);
  switch (event.kind) {
    case "message":
      return event.topLevel ? { to: "task", bind: true } : inOtherThread(facts);
    case "command":
    case "interaction":
    case "reaction":
      return { to: "task", bind: false };
    case "system":
      return facts.hasFilter
        ? { to: "task", bind: false }
        : nowhere("ignored", "no message, and the trigger has no condition that asks for it");
  }
}

function inBoundThread({ event }: RouteFacts, { id, state }: BoundTask): Route {
  if (state === "pending" || state === "running") return { to: "inbox", taskId: id };
  if (event.kind === "reaction") {
    return nowhere("ignored", "the task of its thread has ended, and a reaction starts no other");
  }
  if (state !== undefined) return { to: "follow-up", parentId: id };
  return nowhere(
    "needs_attention",
    `task ${id} of its thread is no longer stored: bind the thread to another one`,
  );
}

/** A reply in a thread that belongs to no task: only who mentions the app means it. */
function inOtherThread({ said, rootIsOpen }: RouteFacts): Route {
  if (rootIsOpen) {
    return nowhere(
      "needs_attention",
      "the post that began its thread was not routed: replay that first, or bind the thread",
    );
  }
  return said.isMention ? { to: "task", bind: true } : nowhere("ignored", STRAY);
}

function nowhere(state: SourceEventState, reason: string): Route {
  return { to: "nowhere", state, reason };
}
