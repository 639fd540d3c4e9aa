/**
 * What holds an agent of a task back from answering the question of its own task.
 *
 * @module
 */

import { socketRole } from "../../auth/caller.ts";
import type { DataDir } from "../../base/data_dir.ts";
import { BY_SOCKET } from "../../resources/approval.ts";
import { NO_SANDBOX } from "../../resources/sandbox.ts";
import { runsProgram } from "../../resources/step.ts";
import type { Protection } from "../../store/approval_records.ts";
import type { Plan, PlannedStep } from "../plan.ts";
import { requires, type Sandboxes } from "./step_sandbox.ts";

/** What the daemon says about callers of its socket and about steps without a sandbox. */
export interface ProtectionFacts {
  /** Whether the socket allows only reading. */
  readonly isSocketReadOnly: boolean;
  /** Whether a step runs in a sandbox although its manifests do not ask for one. */
  readonly isHeldAnyway: (step: { readonly hasAgent: boolean }) => boolean;
  /** Who may answer. */
  readonly by: readonly string[];
}

/** What a daemon says now. */
export async function protectionFacts(
  { dirs, sandboxes: { required } }: {
    readonly dirs: DataDir;
    readonly sandboxes: Pick<Sandboxes, "required">;
  },
): Promise<Omit<ProtectionFacts, "by">> {
  return {
    isSocketReadOnly: (await socketRole(dirs)).role === "read_only",
    isHeldAnyway: ({ hasAgent }) => requires(required, { hasAgent, hasSession: false }),
  };
}

/** Which protection the questions of a plan have. */
export function protectionOf(
  { steps, finally: last = [] }: Pick<Plan, "steps" | "finally">,
  { isSocketReadOnly, isHeldAnyway, by }: ProtectionFacts,
): Protection {
  const isHeld = ({ agent, sandbox }: Pick<PlannedStep, "agent" | "sandbox">) =>
    sandbox === undefined
      ? isHeldAnyway({ hasAgent: agent !== undefined })
      : sandbox !== NO_SANDBOX;
  const runs = [...steps, ...last].filter(runsProgram);
  if (runs.every((step) => [step, ...step.fallbacks ?? []].every(isHeld))) return "sandbox";
  return isSocketReadOnly && !by.includes(BY_SOCKET) ? "socket" : "none";
}
