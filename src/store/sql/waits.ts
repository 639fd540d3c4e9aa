/**
 * What a pending task waits for, from its row: computed when it is read, so nothing is stored that
 * the end of another task would make wrong.
 *
 * @module
 */

import type { TaskWait } from "../task_records.ts";
import type { Room } from "../transactions/task_rows.ts";
import { number } from "./columns.ts";
import type { Row } from "./row.ts";
import { toWaitReason, WAIT_REASON } from "./wait_reasons.ts";

/** Columns of a row that {@linkcode roomOf} and {@linkcode toWait} take, beside its state. */
export const WAIT_COLUMNS = `tasks.held, tasks.run_at,
  CASE WHEN tasks.state = 'pending' AND tasks.held = ${WAIT_REASON.group} THEN tasks.gate END AS gate,
  CASE WHEN tasks.debounce IS NULL THEN 0 ELSE 1 END AS is_debounced,
  CASE WHEN tasks.state = 'pending' AND tasks.held = ${WAIT_REASON.time} AND EXISTS (
    SELECT 1 FROM rates WHERE rates.project = tasks.project AND rates."trigger" = tasks."trigger"
  ) THEN 1 ELSE 0 END AS is_rated`;

/** Most tasks that are counted in one room, so that a list costs the same however many there are. */
export const MOST_COUNTED = 1000;

/** How full a room is in which tasks wait. */
export interface RoomUse {
  /** The limit of the newest task that waits there, which holds for all. */
  readonly max: number;
  /** Tasks that occupy room, counted up to {@linkcode MOST_COUNTED}. */
  readonly open: number;
  /** The oldest of these that is furthest. */
  readonly first?: string;
}

/** The room for which a pending task waits; `undefined` where it waits for none. */
export function roomOf(row: Row): Room | undefined {
  if (row["state"] !== "pending") return undefined;
  const digest = row["gate"];
  switch (toWaitReason(number(row, "held"))) {
    case "group":
      return digest instanceof Uint8Array ? { of: "group", digest } : undefined;
    case "workspace":
      return {
        of: "workspace",
        project: String(row["project"]),
        name: String(row["workspace"]),
      };
    default:
      return undefined;
  }
}

/** Identifies a room among all. */
export function roomKey(room: Room): string {
  return room.of === "group" ? room.digest.toHex() : JSON.stringify([room.project, room.name]);
}

/** What is known beside the row. */
interface BesideRow {
  /** How full its room is; absent where it waits for none. */
  readonly use?: RoomUse | undefined;
  /** Names or labels of the nodes for which it is. */
  readonly nodes?: readonly string[] | undefined;
}

/** What a pending task waits for; `undefined` of one that runs or has ended. */
export function toWait(row: Row, { use, nodes }: BesideRow): TaskWait | undefined {
  if (row["state"] !== "pending") return undefined;
  const reason = toWaitReason(number(row, "held"));
  switch (reason) {
    case "time": {
      const isDebounced = row["is_debounced"] === 1;
      return {
        for: "time",
        until: number(row, "run_at"),
        by: [
          ...isDebounced ? ["debounce"] as const : [],
          ...!isDebounced || row["is_rated"] === 1 ? ["rateLimit"] as const : [],
        ],
      };
    }
    case "group":
    case "workspace":
      // the last of those in its way may have ended between two reads
      return { for: reason, ...use ?? { max: 0, open: 0 } };
    case "none": {
      const only = row["only_node"];
      return {
        for: "worker",
        ...(nodes === undefined ? {} : { nodes }),
        ...(typeof only === "string" ? { onlyNode: only } : {}),
      };
    }
  }
}
