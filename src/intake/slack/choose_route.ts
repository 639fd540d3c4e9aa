/**
 * Chooses the route of a chat event: to the task of its thread, to a new task, to an approval, or to none. Pure. An
 * unclear case needs the attention of a person.
 *
 * @module
 */

import type {
  BoundTask,
  ClaimedSourceEvent,
  SourceEventState,
} from "../../store/source_event_records.ts";
import { isUnfinished } from "../../store/task_records.ts";
import type { SlackEvent } from "./normalise.ts";

/** The destination of an event. */
export type Route =
  | { readonly to: "nowhere"; readonly state: SourceEventState; readonly reason: string }
  | { readonly to: "inbox"; readonly taskId: string }
  | { readonly to: "answer" }
  | { readonly to: "follow-up"; readonly parentId: string }
  | { readonly to: "task"; readonly bind: boolean };

/** The facts that decide the route of an event. */
export interface RouteFacts extends Pick<ClaimedSourceEvent, "event" | "bound" | "rootIsOpen"> {
  readonly content: Pick<SlackEvent, "ignored" | "isMention">;
  /** Whether it is a click on a button of an approval. */
  readonly isAnswer: boolean;
  /** Whether its trigger has a condition. */
  readonly hasFilter: boolean;
}

/** Reason of an ignored reply in a thread that is bound to no task. */
export const STRAY = "a reply in a thread that belongs to no task";

/** The route of an event; the trigger's filter is checked afterwards. */
export function chooseRoute(facts: RouteFacts): Route {
  const { event, content, bound } = facts;
  if (content.ignored !== undefined) return nowhere("ignored", content.ignored);
  if (facts.isAnswer && event.kind === "interaction") return { to: "answer" };
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
        : nowhere("ignored", "not a message, and the trigger has no condition that asks for it");
  }
}

function inBoundThread({ event }: RouteFacts, { id, state }: BoundTask): Route {
  if (state !== undefined && isUnfinished(state)) return { to: "inbox", taskId: id };
  if (event.kind === "reaction") {
    return nowhere("ignored", "the task of its thread has ended, and a reaction starts no other");
  }
  if (state !== undefined) return { to: "follow-up", parentId: id };
  return nowhere(
    "needs_attention",
    `task ${id} of its thread is no longer stored: bind the thread to another one`,
  );
}

/** The route of a reply in a thread without a task: it starts one only if it mentions the app. */
function inOtherThread({ content, rootIsOpen }: RouteFacts): Route {
  if (rootIsOpen) {
    return nowhere(
      "needs_attention",
      "the post that started its thread was not routed: replay that post first, or bind the thread",
    );
  }
  return content.isMention ? { to: "task", bind: true } : nowhere("ignored", STRAY);
}

function nowhere(state: SourceEventState, reason: string): Route {
  return { to: "nowhere", state, reason };
}
