/**
 * The check whether the sender of an event may start a task. `tasks/run/` calls it; `connections/` asks
 * the platform.
 *
 * @module
 */

import type { ClaimedTask } from "../store/task_records.ts";
import type { PlannedGuard } from "./plan.ts";

/** The event whose sender is checked, and the permission that the sender needs. */
export interface SenderQuestion {
  readonly project: string;
  readonly guard: PlannedGuard;
  readonly payload: unknown;
  /** The part of the payload that a signature covers. */
  readonly coverage: Pick<ClaimedTask["coverage"], "payload">;
}

/** Why a task may not start; `failed` if the platform gave no answer, so that a retry may succeed. */
export interface SenderRefusal {
  readonly state: "cancelled" | "failed";
  readonly reason: string;
}

/** Asks the platform of an event for the permission of its sender. */
export interface SenderCheck {
  /**
   * Why the event may not start a task; `undefined` if it may. Never rejects; its pauses take some seconds
   * at most, besides the time of the platform.
   */
  readonly whyNot: (
    question: SenderQuestion,
    signal: AbortSignal,
  ) => Promise<SenderRefusal | undefined>;
}
