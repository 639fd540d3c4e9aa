/**
 * Records of tasks and their steps.
 *
 * @module
 */

import type { FailureKind } from "../agents/agent_failure.ts";
import type { AskedBy } from "../base/asked_by.ts";
import type { JsonObject } from "../base/json.ts";
import type { Coverage } from "../signatures/coverage.ts";
import type { ListQuery } from "./list_query.ts";
import type { DecidedByResources } from "./stale_resources.ts";
import type { Priority } from "../resources/priority.ts";
import type { WaitKind } from "./wait_records.ts";

/** States of a task; the last three are final. */
export const TASK_STATES = [
  "pending",
  "running",
  "waiting",
  "succeeded",
  "failed",
  "cancelled",
] as const;
/** One of {@linkcode TASK_STATES}. */
export type TaskState = typeof TASK_STATES[number];

/** Whether a task in this state has not ended. */
export function isUnfinished(state: TaskState): boolean {
  return state === "pending" || state === "running" || state === "waiting";
}

/** States of a step. */
export type StepState = TaskState | "skipped";

/** A task to be stored. */
export interface NewTask {
  /** Sorts by time. */
  readonly id: string;
  readonly project: string;
  readonly trigger: string;
  readonly workflow: string;
  readonly workspace: string;
  /** The plan as JSON, with its hash; absent when something the task needs is missing. */
  readonly plan?: { readonly hash: string; readonly json: string };
  /**
   * What the task needs and is missing. Without a plan it is stored as failed; with one, only its
   * `finally` steps run.
   */
  readonly missing?: string;
  /** Exact JSON for the steps, where that is not the delivery's body. */
  readonly payload?: Uint8Array;
  /**
   * Identifies the event among those of its trigger: with the key of an earlier event no task
   * starts.
   */
  readonly dedupKey?: string;
  /** W3C `traceparent` of the trace its spans belong to. */
  readonly trace?: string;
  /** Task whose step, end or thread started this one. */
  readonly parentId?: string;
  /** Number of tasks before it in a chain of task triggers; 0 when absent. */
  readonly depth?: number;
  /** Whether triggers follow its workflow, so that the end of the task has to be kept for them. */
  readonly followed?: boolean;
  /** Limit of its group, and what happens above it. */
  readonly concurrency?: TaskConcurrency;
  /** Whether it goes before or after the others; between them when absent. */
  readonly priority?: Priority;
  /** Most tasks under way in its workspace at once; any number when absent. */
  readonly workspaceMax?: number;
  /** Tasks of the same key that arrive before it starts join it, with the newest payload. */
  readonly debounce?: { readonly key: string; readonly forMs: number };
  /** The conversation that its event belongs to. */
  readonly conversation?: EventConversation;
  /** Most tasks of its trigger to start within a minute; `reject` refuses those above it. */
  readonly rateLimit?: { readonly perMinute: number; readonly reject: boolean };
}

/** The names by which triggers and Notifications select tasks. */
export type TaskNames = Pick<NewTask, "project" | "trigger" | "workflow">;

/** The conversation of an event. */
export interface EventConversation {
  /** Shared by triggers of the project. */
  readonly name: string;
  readonly key: string;
  /** What a task of the conversation that has not ended gets into its inbox. */
  readonly message: JsonObject;
  /** Whether the event starts a task if none is open. */
  readonly starts: boolean;
  /** The message of an ended task that the event was, and that no step read: it starts a follow-up. */
  readonly follows?: { readonly taskId: string; readonly position: number };
}

/** How the tasks of one trigger and key are limited (`concurrency`). */
export interface TaskConcurrency {
  /** What happens to a task of a full group. */
  readonly policy: "Forbid" | "Replace" | "Queue";
  /** Identifies the group among those of the trigger. */
  readonly key: string;
  /** Most tasks of the group under way at once. */
  readonly max: number;
}

/** A task that retries another one (`svc task retry`). */
export interface RetryOf extends DecidedByResources {
  /** Id of the new task. */
  readonly id: string;
  /** The task to retry, which has ended. */
  readonly of: string;
  readonly by: AskedBy;
  /**
   * The plan, where the old task had none or other limits count now; its names may differ from those of
   * the old task.
   */
  readonly planned?: {
    readonly workflow: string;
    readonly workspace: string;
    readonly plan: { readonly hash: string; readonly json: string };
    readonly workspaceMax?: number;
  };
  /**
   * Ended steps that are not run again, the steps of a `repeat` that goes on in its round, and steps that are
   * given messages again.
   */
  readonly kept: readonly StepRecord[];
  /** Whether the new task continues in the directory of the old one. */
  readonly keepDirectory: boolean;
  /**
   * Whether it may run only on the node of the old one, which has the files of the kept steps. So it
   * is if it keeps the directory.
   */
  readonly staysOnNode: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Filter of a list of tasks. */
export interface TaskQuery extends ListQuery {
  readonly state?: string;
  readonly workflow?: string;
  /** Delivery that started them, or whose event they retry. */
  readonly delivery?: string;
  /** Task whose step, end or thread started them, or what they retry. */
  readonly parent?: string;
  /** Task that they retry. */
  readonly retryOf?: string;
  /** Id of a session in which one of their steps went on. */
  readonly session?: string;
}

/**
 * Result of a request to cancel: the task never started (`cancelled`), is being stopped, or had
 * ended before.
 */
export type CancelResult = "cancelled" | "stopping" | "ended";

/** A message to a task. */
export interface InboxMessage {
  /** Position in the inbox, from 0. */
  readonly position: number;
  /** One JSON object. */
  readonly message: JsonObject;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

/** One step of a task. */
export interface StepRecord {
  /** Position in the workflow, from 0. */
  readonly position: number;
  /** Id in the workflow. */
  readonly id: string;
  readonly state: StepState;
  /** Exit status of its process; 128 + signal number when a signal ended it. */
  readonly exitCode?: number;
  /** Empty if there is none. */
  readonly reason: string;
  /** Milliseconds since the epoch. */
  readonly startedAt?: number;
  /** Milliseconds since the epoch. */
  readonly finishedAt?: number;
  /** Process group, kept while the step runs and after a crash. */
  readonly processGroup?: number;
  /** Number of the attempt, from 1; 1 when absent. */
  readonly attempt?: number;
  /** Number of the round of its `repeat`, from 1; 1 when absent. */
  readonly round?: number;
  /** The kind of failure of a step that failed; absent in records of older versions. */
  readonly failure?: FailureKind;
  /** What it reached from a sandbox whose network has rules, the first host first. */
  readonly network?: readonly ReachedHost[];
  /** Id of the session in which its agent went on; absent without one. */
  readonly session?: string;
  /** Position of the first message of the inbox that it was given; absent without messages. */
  readonly readFrom?: number;
  /** Position behind the last message that it was given: of the task, so a stored record has none. */
  readonly readUpTo?: number;
  /** Position of the first message that turned out not to be read; of the task, too. */
  readonly unreadFrom?: number;
  /** Values it wrote to `$SVC_OUTPUT`, and what its agent said about its run. */
  readonly outputs?: Readonly<Record<string, string>>;
}

/** What a step in a sandbox did at one host. */
export interface ReachedHost {
  /** `HOST:PORT`, or scheme and host of an API whose key svc added. */
  readonly host: string;
  readonly requests: number;
  /** Those that its Sandbox does not allow. */
  readonly refused: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
  /** Tokens that the answers counted, if they did. */
  readonly tokensIn?: number;
  readonly tokensOut?: number;
}

/** Why a task that is pending or waiting does not run. */
export type TaskReadiness =
  /** It waits for a worker only, if need be of certain nodes. */
  | {
    readonly is: "ready";
    /** Names or labels of the nodes that may run it; any node when absent. */
    readonly nodes?: readonly string[];
    /** Id of the only node that has the files of the kept steps; any node when absent. */
    readonly onlyNode?: string;
  }
  | {
    readonly is: "delayed";
    /** Milliseconds since the epoch. */
    readonly until: number;
    /** The cause: of several, the one that takes longest. */
    readonly by: readonly ("debounce" | "rateLimit")[];
  }
  | {
    readonly is: "queued";
    /** For room in its group (`concurrency`), or in its workspace (`maxParallel`). */
    readonly in: "group" | "workspace";
    /** Most tasks at once. */
    readonly max: number;
    /** Tasks that occupy room. */
    readonly open: number;
    /** Id of one of these; absent when none does any more. */
    readonly first?: string;
  }
  /** It has begun, and has no worker until a step of it can go on. */
  | {
    readonly is: "waiting";
    /** When it goes on by itself, in milliseconds since the epoch; absent without such a time. */
    readonly until?: number;
    /** Name of the agent that it waits for; absent if it waits for a time only. */
    readonly agent?: string;
    /** What it waits for: a free seat or session of the agent, or the end of the agent's limit. */
    readonly for?: "seat" | "session" | "limit" | "budget";
    /** The open wait of the first step that has one; absent if it waits for an agent only. */
    readonly wait?: { readonly position: number; readonly kind: WaitKind };
  };

/** One run of a workflow. */
export interface Task {
  /** Sorts by time. */
  readonly id: string;
  readonly project: string;
  readonly trigger: string;
  readonly workflow: string;
  readonly workspace: string;
  readonly state: TaskState;
  /** Empty if there is none. */
  readonly reason: string;
  /** Delivery that started it; empty when none did. */
  readonly deliveryId: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Milliseconds since the epoch. */
  readonly startedAt?: number;
  /** Milliseconds since the epoch. */
  readonly finishedAt?: number;
  /** How often a crash interrupted it and it continued. */
  readonly restarts: number;
  /** Task whose step, end or thread started it; empty when none did. */
  readonly parentId: string;
  /** The task at the top, if a step of another task has started it, or the one that it retries; else empty. */
  readonly rootId: string;
  /** Task that it retries; empty for none. */
  readonly retryOf: string;
  /** Who had it retried; absent if it is no retry, and in records of earlier versions. */
  readonly retriedBy?: AskedBy;
  /** Number of tasks before it in a chain of task triggers. */
  readonly depth: number;
  /** Its own directory, while that exists; empty otherwise. */
  readonly directory: string;
  /** Id of the node that claimed it last; absent before a claim, and if the store has only one node. */
  readonly node?: string;
  /** Name of that node; absent if it is no longer known, and if `node` is absent. */
  readonly nodeName?: string;
  /** As of the time of reading; absent unless it is pending or waiting. */
  readonly readiness?: TaskReadiness;
  /** Reason of a request to cancel it; empty without one. */
  readonly cancelReason: string;
  /** Milliseconds that workers have run it up to now, without the run that is under way. */
  readonly activeMs: number;
  /** Name and key of the conversation that its event belongs to, `NAME/KEY`; absent without one. */
  readonly conversation?: string;
  /** How many messages of its inbox no step was given; absent for none. */
  readonly unread?: number;
  /** Every step of its workflow, in order; empty when it never had a plan. */
  readonly steps: readonly StepRecord[];
}

/** Tasks to run now, and when to claim again. */
export interface Claim {
  /** The claimed tasks, now in state `running`, oldest first. */
  readonly tasks: readonly ClaimedTask[];
  /**
   * Tasks that were taken over from a node that is gone, as `claimInterrupted` would give them;
   * absent where there are none.
   */
  readonly interrupted?: readonly ClaimedTask[];
  /** When the next task is due, in milliseconds since the epoch; absent when none waits for a time. */
  readonly nextAt?: number;
}

/** A task to run now. */
export interface ClaimedTask {
  /** In state `running`. */
  readonly task: Task;
  /** The plan as JSON. */
  readonly plan: string;
  /** Exact JSON for the steps. */
  readonly payload: Uint8Array;
  /** What the step that has started it gives it (`with`), by name; empty if none has. */
  readonly inputs: Readonly<Record<string, string>>;
  /** Headers of its delivery, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Its request; the texts are empty if none brought it, or it came to a chat endpoint. */
  readonly request: { readonly url: string; readonly method: string; readonly remote: string };
  /** The signed part of its event; everything for an event of svc itself. */
  readonly coverage: Coverage;
  /** Whether its inbox holds any message. */
  readonly hasMessages: boolean;
  /** Position behind the last message that its steps were given. */
  readonly readUpTo: number;
  /** W3C `traceparent` of the trace its spans belong to. */
  readonly trace?: string;
  /** Absent unless another node has run steps of it. */
  readonly move?: TaskMove;
}

/** The move of a task that continues on another node. */
export interface TaskMove {
  /** Name of the former node. */
  readonly from: string;
  /** Name of the new node. */
  readonly to: string;
  /** Whether its steps run again, because their files are on the former node. */
  readonly isAnew: boolean;
}

/** The end of a task. */
export interface TaskEnd {
  readonly taskId: string;
  readonly state: "succeeded" | "failed" | "cancelled";
  /** Empty if there is none. */
  readonly reason: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Whether triggers follow its workflow, so that the end has to be kept for them. */
  readonly followed?: boolean;
  /** Ended steps to be stored in the same transaction. */
  readonly steps?: readonly StepRecord[];
  /** Whether waits of the task may be open; they end with it. */
  readonly mayHaveWaits?: boolean;
}

/**
 * Whether a task has ended now: `false` if it had before; `unread` if it ended before a step was given the
 * last messages of its inbox, so that its end is kept for a follow-up.
 */
export type TaskFinish = boolean | "unread";

/** Number of tasks that have not ended, and the age of the oldest pending ones. */
export interface TaskCounts {
  readonly pending: number;
  /** Of these, those that wait for room, in a group, a workspace or a project. */
  readonly queued: number;
  /** Of the pending ones, those that have to wait for a time (debounce, rate limit). */
  readonly delayed: number;
  /** Those that have begun, and have no worker until a step of them goes on. */
  readonly waiting: number;
  readonly running: number;
  /** When the first pending task was made, woken or given back, in milliseconds since the epoch. */
  readonly oldestPendingAt?: number;
  /** The same, only of tasks that wait for a worker. */
  readonly oldestReadyAt?: number;
  /** The same, only of those that wait for a worker and have a low priority. */
  readonly oldestLowAt?: number;
}
