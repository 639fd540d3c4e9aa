/**
 * Where an event of a chat platform goes in the end. It is decided outside of the store, which may
 * have changed meanwhile; what has is found out here, in the transaction that carries the decision
 * out.
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

/** What may have changed since it was decided where an event goes. */
export interface RoutingFacts {
  /** Where the event stands; absent when it is no longer stored. */
  readonly state?: SourceEventState;
  /** Another event about the same post that has been routed; absent when there is none. */
  readonly samePost?: string;
  /** Task its thread is bound to; absent when it is bound to none. */
  readonly bound?: BoundTask;
}

/** What is to be done with an event. */
export type RoutingAction =
  /** It is no longer being routed: what stands is the answer. */
  | { readonly do: "nothing"; readonly state: SourceEventState }
  /** What it was decided on holds no more: it goes back to the head of its thread. */
  | { readonly do: "decide again" }
  | { readonly do: "end"; readonly state: SourceEventState; readonly reason: string }
  | { readonly do: "deliver"; readonly to: Destination & { readonly to: "inbox" } }
  | { readonly do: "start"; readonly to: Destination & { readonly to: "task" } };

/**
 * Looks at a decision again. What was to be ignored is ignored whatever has changed; a post counts
 * once, also when its events were routed side by side; a decision for a thread holds while the
 * thread is bound to the same task; and a message reaches a task only while that has not ended.
 */
export function recheckRouting(routing: Routing, facts: RoutingFacts): RoutingAction {
  const { state = "failed", samePost, bound } = facts;
  if (state !== "routing") return { do: "nothing", state };
  if (routing.to === "nowhere" && routing.state === "ignored") return endAs(routing);
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
  return task?.state === "pending" || task?.state === "running";
}

/** How an event ends that was to start a task. */
export interface StartedEvent {
  /** Where it stands from now on. */
  readonly state: SourceEventState;
  /** Whether the delivery and the thread of the event get the task. */
  readonly started: boolean;
  /** Whether the thread is bound to the task. */
  readonly binds: boolean;
}

/** How an event ends, by what became of the task it was to start: a duplicate starts none. */
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

/** Where the post that begins a thread stands while its replies wait for a person to decide. */
export const OPEN_ROOT = ["failed", "needs_attention"] as const;

/**
 * The thread of an event; a reaction names the post it is for, and belongs to the thread of that.
 */
export function threadOf(
  { kind, threadId }: Pick<SourceEventFacts, "kind" | "threadId">,
  threadOfPost: string | undefined,
): string {
  return kind === "reaction" && threadOfPost ? threadOfPost : threadId;
}
