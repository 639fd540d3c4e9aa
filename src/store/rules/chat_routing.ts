/**
 * The destination of a chat event. The router decides it outside of the store, which may have
 * changed by then; so these rules check the decision again, in the transaction that carries it out.
 *
 * @module
 */

import type { EventOutcome } from "../delivery_records.ts";
import type {
  BoundTask,
  Destination,
  Routing,
  SourceEventFacts,
  SourceEventState,
} from "../source_event_records.ts";
import { isUnfinished } from "../task_records.ts";

/** Facts that may have changed since the destination was decided. */
export interface RoutingFacts {
  /** Absent when the event is no longer stored. */
  readonly state?: SourceEventState;
  /** Another event about the same post that has been routed; absent when there is none. */
  readonly samePost?: string;
  /** Task that the thread is bound to; absent when it is bound to none. */
  readonly bound?: BoundTask;
}

/** The action of the store for a routed event. */
export type RoutingAction =
  /** The event is no longer being routed: its stored state is the answer. */
  | { readonly do: "nothing"; readonly state: SourceEventState }
  /** The facts behind the decision have changed: the event returns to the head of its thread. */
  | { readonly do: "decide again" }
  | {
    readonly do: "end";
    readonly state: SourceEventState;
    readonly reason: string;
    readonly taskId?: string;
  }
  | { readonly do: "deliver"; readonly to: Destination & { readonly to: "inbox" } }
  | { readonly do: "start"; readonly to: Destination & { readonly to: "task" } };

/**
 * Checks a decision again. An event to be ignored is ignored in any case, and an answer has counted,
 * or not, by the time it is routed; a post counts once, also when its events were routed in parallel; a decision for a thread is valid while the
 * thread is bound to the same task; and a message reaches a task only until that task ends.
 */
export function recheckRouting(routing: Routing, facts: RoutingFacts): RoutingAction {
  const { state = "failed", samePost, bound } = facts;
  if (state !== "routing") return { do: "nothing", state };
  if (routing.to === "nowhere" && routing.state === "ignored") return endAs(routing);
  if (routing.to === "answer") {
    const { taskId, reason } = routing;
    return { do: "end", state: "routed", reason, taskId };
  }
  if (samePost !== undefined) {
    return endAs({ state: "ignored", reason: `the same post as source event ${samePost}` });
  }
  if (bound?.id !== routing.boundTo) return { do: "decide again" };
  switch (routing.to) {
    case "nowhere":
      return endAs(routing);
    case "inbox":
      return isOpen(bound) ? { do: "deliver", to: routing } : { do: "decide again" };
    case "task":
      return { do: "start", to: routing };
  }
}

function endAs({ state, reason }: { state: SourceEventState; reason: string }): RoutingAction {
  return { do: "end", state, reason };
}

function isOpen(task: BoundTask | undefined): boolean {
  return task?.state !== undefined && isUnfinished(task.state);
}

/** Final state of an event that was to start a task. */
export interface StartedEvent {
  readonly state: SourceEventState;
  /** Whether the delivery and the thread of the event get the task. */
  readonly started: boolean;
  /** Whether the thread is bound to the task. */
  readonly binds: boolean;
}

/** Ends an event according to the outcome of its task: a duplicate starts none. */
export function endOfStart(
  { outcome, taskId }: EventOutcome,
  { bind, event }: {
    readonly bind: boolean;
    readonly event: Pick<SourceEventFacts, "threadId" | "conversationId">;
  },
): StartedEvent {
  const started = outcome === "accepted" && taskId !== undefined;
  const hasThread = event.threadId !== "" && event.conversationId !== "";
  return { state: started ? "routed" : "ignored", started, binds: started && bind && hasThread };
}

/** States of the post that begins a thread while its replies wait for an operator's decision. */
export const OPEN_ROOT = ["failed", "needs_attention"] as const;

/** The thread of an event; a reaction belongs to the thread of the post that it names. */
export function threadOf(
  { kind, threadId }: Pick<SourceEventFacts, "kind" | "threadId">,
  threadOfPost: string | undefined,
): string {
  return kind === "reaction" && threadOfPost ? threadOfPost : threadId;
}
