/**
 * A task of the working set, as it is after what the batch has changed so far.
 *
 * @module
 */

import type { TaskLimits } from "../../rules/limits.ts";
import type { Readiness } from "../../rules/readiness.ts";
import { READINESS, toReadiness } from "../../sql/readiness.ts";
import { isUnfinished, type TaskState } from "../../task_records.ts";
import type { InboxFacts, LimitKey, StoredTask } from "../../transactions/task_rows.ts";
import type { TaskFact } from "./facts.ts";

/** The last claim of a task: node, run of its daemon, and number of claims. */
export interface TaskClaim {
  readonly node: string;
  readonly run: string;
  readonly epoch: number;
}

/** A task. Only `KnownLimits.change` changes it. */
export interface KnownTask {
  readonly id: string;
  readonly state: TaskState;
  readonly readiness: Readiness;
  readonly limits: TaskLimits;
  readonly planHash?: string;
  readonly hasStarted: boolean;
  readonly hasDirectory: boolean;
  readonly cancelReason?: string;
  readonly claim: TaskClaim;
  readonly inbox: InboxFacts;
}

/** The inbox of a new task. */
export const EMPTY_INBOX: InboxFacts = { messages: 0, bytes: 0, readUpTo: 0 };

/** The claim of a task that was never claimed. */
export const UNCLAIMED: TaskClaim = { node: "", run: "", epoch: 0 };

/** Converts a loaded fact. */
export function toKnownTask(fact: TaskFact): KnownTask {
  const { id, state, node, run, epoch } = fact;
  return {
    id,
    state,
    readiness: toReadiness(fact.readiness),
    limits: limitsOfFact(fact),
    ...(fact.plan_hash === null ? {} : { planHash: fact.plan_hash }),
    hasStarted: fact.has_started,
    hasDirectory: fact.has_directory,
    ...(fact.cancel_reason === null ? {} : { cancelReason: fact.cancel_reason }),
    claim: { node, run, epoch },
    inbox: {
      messages: fact.messages,
      bytes: fact.message_bytes,
      readUpTo: fact.read_up_to,
    },
  };
}

function limitsOfFact(
  { gate, gate_max, project, workspace: name, workspace_max: max }: TaskFact,
): TaskLimits {
  return {
    ...(gate === null || gate_max === null
      ? {}
      : { group: { digest: Uint8Array.fromHex(gate), max: gate_max } }),
    workspace: { project, name, ...(max === null ? {} : { max }) },
  };
}

/** The part of a task that transactions ask for. */
export function toStoredTask(
  { state, planHash, hasDirectory, limits, hasStarted, readiness }: KnownTask,
): StoredTask {
  const planned = planHash === undefined ? {} : { planHash };
  return { state, ...planned, hasDirectory, limits, hasStarted, readiness };
}

/** How a task counts in a limit: queued for it, occupying room, or neither (`apart`). */
export type Place = "queued" | "open" | "apart";

const QUEUED_IN = { group: "queuedInGroup", workspace: "queuedInWorkspace" } as const;

/** Whether a task that counts against a limit is queued there, occupies room there, or neither. */
export function placeOf(task: KnownTask, of: LimitKey["of"]): Place {
  if (!isUnfinished(task.state)) return "apart";
  if (task.readiness === QUEUED_IN[of]) return task.state === "waiting" ? "apart" : "queued";
  return READINESS[task.readiness] < READINESS[QUEUED_IN[of]] ? "open" : "apart";
}
