/**
 * The question whether an event may start a task, and what answers it: `tasks/run/` asks, `connections/`
 * asks the platform.
 *
 * @module
 */

import type { ClaimedTask } from "../store/task_records.ts";
import type { PlannedGuard } from "./plan.ts";

/** Whose event started a task, and what its sender must be allowed to do. */
export interface SenderQuestion {
  readonly project: string;
  readonly guard: PlannedGuard;
  readonly payload: unknown;
  /** What a signature covers of the event. */
  readonly coverage: Pick<ClaimedTask["coverage"], "payload">;
}

/** Why a task may not start; `failed` where there was no answer, and another try may have one. */
export interface SenderRefusal {
  readonly state: "cancelled" | "failed";
  readonly reason: string;
}

/** Answers it. */
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
