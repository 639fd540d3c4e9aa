/**
 * Why a task that is pending or waiting does not run, from its row: computed when it is read, so nothing
 * is stored that the end of another task would make wrong.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import type { TaskReadiness } from "../task_records.ts";
import type { WaitKind } from "../wait_records.ts";
import type { LimitKey } from "../transactions/task_rows.ts";
import { number, optionalNumber } from "./columns.ts";
import type { Row } from "./row.ts";
import { READINESS, toReadiness } from "./readiness.ts";

const IS_PARKED = "tasks.state = 'waiting'";
/** The condition on the first turn for which such a task waits. */
const IS_FIRST = `turn.task_id = tasks.id AND turn.state = 'waiting' AND turn.position =
  (SELECT min(position) FROM turns WHERE turns.task_id = tasks.id AND turns.state = 'waiting')`;

/** The position of the first step of such a task whose wait is open. */
const FIRST_OPEN = "(SELECT min(waits.position) FROM waits " +
  "WHERE waits.task_id = tasks.id AND waits.state = 'open')";

/** Columns of a row that {@linkcode limitKeyOf} and {@linkcode readinessOf} take, beside its state. */
export const READINESS_COLUMNS = `tasks.readiness, tasks.run_at,
  CASE WHEN tasks.state = 'pending' AND tasks.readiness = ${READINESS.queuedInGroup} THEN tasks.gate END AS gate,
  CASE WHEN tasks.debounce IS NULL THEN 0 ELSE 1 END AS is_debounced,
  CASE WHEN tasks.state = 'pending' AND tasks.readiness = ${READINESS.delayed} AND EXISTS (
    SELECT 1 FROM rates WHERE rates.project = tasks.project AND rates."trigger" = tasks."trigger"
  ) THEN 1 ELSE 0 END AS is_rated,
  CASE WHEN ${IS_PARKED} THEN (SELECT min(agent) FROM turns AS turn WHERE ${IS_FIRST}) END AS agent,
  CASE WHEN ${IS_PARKED} AND EXISTS (SELECT 1 FROM turns AS turn JOIN turns AS other
    ON other.project = turn.project AND other.agent = turn.agent AND other.session = turn.session
      AND other.state = 'held' WHERE ${IS_FIRST}) THEN 1 ELSE 0 END AS in_session,
  CASE WHEN ${IS_PARKED} THEN (SELECT min(agent) FROM agent_limits
    WHERE agent_limits.project = tasks.project AND until = tasks.run_at) END AS limited_agent,
  CASE WHEN ${IS_PARKED} THEN (SELECT min(agent) FROM turns
    WHERE turns.task_id = tasks.id AND turns.state = 'limited' AND turns.asks IS NULL)
    END AS budget_agent,
  CASE WHEN ${IS_PARKED} THEN ${FIRST_OPEN} END AS wait_position,
  CASE WHEN ${IS_PARKED} THEN (SELECT kind FROM waits AS first
    WHERE first.task_id = tasks.id AND first.position = ${FIRST_OPEN} AND first.state = 'open'
    ORDER BY first.round, first.part LIMIT 1) END AS wait_kind`;

/**
 * Most tasks that are counted in one limit, so that a list costs the same however many there are.
 */
export const MOST_COUNTED = 1000;

/** How many tasks occupy room in a limit in which tasks are queued. */
export interface LimitUse {
  /** The limit of the newest task that is queued there, which holds for all. */
  readonly max: number;
  /** Tasks that occupy room, counted up to {@linkcode MOST_COUNTED}. */
  readonly open: number;
  /** Id of the task that occupies room and is furthest along; of several the oldest. */
  readonly first?: string;
}

/** The limit in which a task is queued; `undefined` of one that is not. */
export function limitKeyOf(row: Row): LimitKey | undefined {
  if (row["state"] !== "pending") return undefined;
  const digest = row["gate"];
  switch (toReadiness(number(row, "readiness"))) {
    case "queuedInGroup":
      return digest instanceof Uint8Array ? { of: "group", digest } : undefined;
    case "queuedInWorkspace":
      return {
        of: "workspace",
        project: String(row["project"]),
        name: String(row["workspace"]),
      };
    default:
      return undefined;
  }
}

/** A text that identifies a limit. */
export function limitId(limit: LimitKey): string {
  return limit.of === "group" ? limit.digest.toHex() : JSON.stringify([limit.project, limit.name]);
}

/** Facts about a task that its row does not contain. */
interface BesideRow {
  /** The use of the limit in which the task is queued; absent if it is not queued. */
  readonly use?: LimitUse | undefined;
  /** Names or labels of the nodes that may run the task; absent if every node may. */
  readonly nodes?: readonly string[] | undefined;
}

/** Why a task does not run; `undefined` of one that runs or has ended. */
export function readinessOf(row: Row, { use, nodes }: BesideRow): TaskReadiness | undefined {
  if (row["state"] === "waiting") {
    return {
      is: "waiting",
      ...optionalNumber(row, "run_at", "until"),
      ...forAgent(row),
      ...forWait(row),
    };
  }
  if (row["state"] !== "pending") return undefined;
  switch (toReadiness(number(row, "readiness"))) {
    case "delayed": {
      const isDebounced = row["is_debounced"] === 1;
      return {
        is: "delayed",
        until: number(row, "run_at"),
        by: [
          ...isDebounced ? ["debounce"] as const : [],
          ...!isDebounced || row["is_rated"] === 1 ? ["rateLimit"] as const : [],
        ],
      };
    }
    case "queuedInGroup":
      return queuedIn("group", use);
    case "queuedInWorkspace":
      return queuedIn("workspace", use);
    case "ready": {
      const only = row["only_node"];
      return {
        is: "ready",
        ...defined({ nodes }),
        ...(typeof only === "string" ? { onlyNode: only } : {}),
      };
    }
  }
}

type Waiting = Extract<TaskReadiness, { is: "waiting" }>;

/** The first open wait of a waiting task. */
function forWait(row: Row): Pick<Waiting, "wait"> {
  const { wait_kind: kind } = row;
  if (typeof kind !== "string") return {};
  return { wait: { position: number(row, "wait_position"), kind: kind as WaitKind } };
}

/** The agent that a waiting task waits for. The end of a limit is the time until which it waits. */
function forAgent(row: Row): Pick<Waiting, "agent" | "for"> {
  const { agent, limited_agent: limited, budget_agent: budgeted } = row;
  if (typeof agent === "string") {
    return { agent, for: number(row, "in_session") > 0 ? "session" : "seat" };
  }
  if (typeof budgeted === "string") return { agent: budgeted, for: "budget" };
  return typeof limited === "string" ? { agent: limited, for: "limit" } : {};
}

function queuedIn(limit: LimitKey["of"], use?: LimitUse): TaskReadiness {
  // the last task that occupied room may have ended between two reads
  return { is: "queued", in: limit, ...use ?? { max: 0, open: 0 } };
}
