/**
 * The question who may start a task, and who answers it.
 *
 * @module
 */

import type { ClaimedTask } from "../../store/task_records.ts";
import type { PlannedGuard } from "../plan.ts";

/** Whose event started a task, and what he has to be allowed. */
export interface SenderQuestion {
  readonly project: string;
  readonly guard: PlannedGuard;
  readonly payload: unknown;
  /** What a signature covers of the event. */
  readonly coverage: ClaimedTask["coverage"];
}

/** Why a task may not start; it has `failed` where the question had no answer. */
export type SenderRefusal = {
  readonly state: "cancelled" | "failed";
  readonly reason: string;
};

/** Knows who may start what. */
export interface SenderCheck {
  /**
   * Why the event may start nothing; `undefined` where it may. Never rejects, and takes some seconds at
   * most but for the platform's own time.
   */
  readonly whyNot: (
    question: SenderQuestion,
    signal: AbortSignal,
  ) => Promise<SenderRefusal | undefined>;
}
