/**
 * What a caller asks of a task at a platform, with the rules that its plan has for that.
 *
 * @module
 */

import type { Caller } from "../../auth/caller.ts";
import type { ForgeName } from "../../base/forge_names.ts";
import { askingStep, type OutputAsked } from "../../outputs/may_rules.ts";
import type { Hold, OutputName } from "../../resources/may.ts";
import type { Task } from "../../store/task_records.ts";
import type { TaskStore } from "../../store/task_store.ts";
import type { Plan } from "../../tasks/plan.ts";

/** What a caller asks for, and at which forge. */
export interface AskedOf<Asked> {
  readonly forge: ForgeName;
  readonly input: Asked;
  readonly caller: Caller;
}

/**
 * What a caller may ask of a task, without a Connection yet.
 *
 * @throws {AppError} `forbidden` for a run that names no step.
 */
export async function outputAsked(
  { id, workflow }: Task,
  { forge, caller }: Pick<AskedOf<unknown>, "forge" | "caller">,
  store: Pick<TaskStore, "findPlan">,
): Promise<Omit<OutputAsked, "connection" | "plan"> & { readonly plan: Plan | undefined }> {
  const step = askingStep(caller);
  const json = await store.findPlan(id);
  return {
    forge,
    workflow,
    step,
    plan: json === undefined ? undefined : JSON.parse(json) as Plan,
  };
}

/** Why a message without files waits for a person; `undefined` where it does not. */
export function heldBy(
  { forge, output }: { readonly forge: ForgeName; readonly output: OutputName },
  { hold }: { readonly hold: Hold },
): string | undefined {
  return hold === "always" ? `may.${forge}.${output} has hold: always` : undefined;
}
