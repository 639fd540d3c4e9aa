/**
 * A step as `task.plan` shows it.
 *
 * @module
 */

import type { PlannedStepView } from "../../src/api/task_operations.ts";

/** A shell line that waits for nothing and has no limit of its own, with these fields in place. */
export function plannedStep(id: string, more: Partial<PlannedStepView> = {}): PlannedStepView {
  return {
    id,
    kind: "run",
    agent: null,
    fallbacks: [],
    needs: [],
    when: null,
    finally: false,
    timeout_secs: null,
    timeout_from: null,
    attempts: 1,
    continue_on_error: false,
    may: null,
    sandbox: null,
    ...more,
  };
}
