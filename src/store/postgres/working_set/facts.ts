/**
 * The facts that the function `facts` of the database gives (`functions/facts.ts`).
 *
 * @module
 */

import type { TaskState } from "../../task_records.ts";
import type { Session } from "../database/connections.ts";
import type { BatchRequest } from "./batch_request.ts";

/** The columns of a task that rules ask for. */
export interface TaskFact {
  readonly id: string;
  readonly project: string;
  readonly workspace: string;
  readonly state: TaskState;
  readonly readiness: number;
  readonly gate: string | null;
  readonly gate_max: number | null;
  readonly workspace_max: number | null;
  readonly plan_hash: string | null;
  readonly debounce: string | null;
  readonly has_started: boolean;
  readonly has_directory: boolean;
  readonly cancel_reason: string | null;
  readonly node: string;
  readonly run: string;
  readonly epoch: number;
  readonly messages: number;
  readonly message_bytes: number;
  readonly read_up_to: number;
}

/** A group or a workspace with a limit. */
export interface LimitFact {
  /** Number of tasks that occupy room. */
  readonly open: number;
  /** How many of the queued tasks were asked for. */
  readonly depth: number;
  /** The queued tasks with the lowest ids. */
  readonly queued: readonly string[];
  /** The queued task with the highest id. */
  readonly newest: string | null;
}

/** A group with a limit, as the function `facts` returns it. */
export interface GroupFact extends LimitFact {
  readonly digest: string;
  /** How many of the unfinished tasks were asked for. */
  readonly asked: number;
  /** Ids of the unfinished tasks. */
  readonly members: readonly string[];
}

/** A workspace with a limit, as the function `facts` returns it. */
export interface WorkspaceFact extends LimitFact {
  readonly project: string;
  readonly name: string;
}

/** The facts of a batch. */
export interface Facts {
  /** The version of the resources, which stays the same until the transaction ends. */
  readonly resource_version: number;
  readonly earlier: readonly {
    readonly digest: string;
    readonly delivery_id: string;
    readonly received_at: number;
    readonly task_id: string;
    readonly state: TaskState;
  }[];
  /** Absent if none was asked for. */
  readonly conversations?: readonly {
    readonly digest: string;
    readonly task_id: string;
    /** Whether the end of that task is stored and not handled yet. */
    readonly has_end: boolean;
  }[];
  readonly rates: readonly {
    readonly project: string;
    readonly trigger: string;
    readonly due_at: number;
    readonly seen_at: number;
  }[];
  readonly deliveries: readonly {
    readonly id: string;
    readonly outcome: string;
    readonly reason: string;
    readonly task_id: string;
    readonly detail: string;
  }[];
  /** The tasks that the request names, those queued in a limit, and the members of groups. */
  readonly tasks: readonly TaskFact[];
  readonly groups: readonly GroupFact[];
  readonly workspaces: readonly WorkspaceFact[];
}

/** Loads the facts, and locks them until the transaction ends. */
export async function loadFacts(db: Session, request: BatchRequest): Promise<Facts> {
  const row = await db.prepared("SELECT facts(?) AS facts", request.toJson());
  return row?.["facts"] as unknown as Facts; // `pg` parses JSON
}
