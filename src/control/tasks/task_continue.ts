/**
 * `task continue`: ends the wait of a step by hand, where what it waits for will not come, or not soon
 * enough.
 *
 * @module
 */

import type { Input, Output } from "../../api/operations.ts";
import { rfc3339 } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { type Caller, withClient } from "../../auth/caller.ts";
import { KEY_PATTERN } from "../../resources/names.ts";
import type { Task } from "../../store/task_records.ts";
import type { EndedWait, WaitEndResult } from "../../store/wait_records.ts";
import type { WaitStore } from "../../store/wait_store.ts";
import type { AuditLog } from "../records/audit_log.ts";
import { findTask } from "../records/records.ts";
import { howEnded } from "../records/wait_record_type.ts";
import type { TasksHost } from "./task_actions.ts";

/** The waits of a daemon, and its audit. */
export interface ContinueHost
  extends Pick<TasksHost, "clock" | "secrets">, Pick<AuditLog, "audited"> {
  readonly store: TasksHost["store"] & Pick<WaitStore, "endWait">;
}

/** The name of an output, and most characters of one. */
const OUTPUT = new RegExp(KEY_PATTERN);
const MAX_OUTPUT = 64 * 1024;
/** Most characters of a reason. */
const MAX_REASON = 500;

/**
 * Ends the open wait of a step; its task goes on. The operation is in the audit, also one that is
 * refused here.
 *
 * @throws {AppError} `not_found`; `invalid` without a reason; `conflict` if the step does not wait.
 */
export async function continueTask(
  { id, step, reason, set = {} }: Input<"task.continue">,
  caller: Caller,
  host: ContinueHost,
): Promise<Output<"task.continue">> {
  if (reason.trim() === "" || reason.length > MAX_REASON) {
    throw new AppError("invalid", `A reason has 1 to ${MAX_REASON} characters`);
  }
  for (const [name, value] of Object.entries(set)) {
    if (!OUTPUT.test(name) || value.length > MAX_OUTPUT) {
      throw new AppError(
        "invalid",
        `An output has a name of letters, digits, _ and -, and at most ${MAX_OUTPUT} characters: ` +
          `found "${name.slice(0, 80)}"`,
      );
    }
  }
  const task = await findTask(id, host.store);
  const position = task.steps.findIndex((one) => one.id === step);
  if (position === -1) {
    const ids = task.steps.map((one) => one.id).join(", ");
    throw new AppError("not_found", `Task ${task.id} has no step "${step}": its steps are ${ids}`);
  }
  const what = { operation: "task.continue", targets: [`task/${task.id}`], caller };
  return await host.audited(what, async () => {
    const name = caller.name === "socket" ? "an operator" : caller.name;
    const who = withClient(name, caller.client);
    const result = await host.store.endWait({
      taskId: task.id,
      position,
      end: {
        by: "hand",
        who,
        reason: host.secrets.redact(reason.trim().replace(/\s+/g, " ")), // one line of the log
        ...(Object.keys(set).length === 0 ? {} : { outputs: host.secrets.redactAll(set) }),
      },
      now: host.clock.now(),
    });
    if (result.is === "over") return { id: task.id, step };
    throw new AppError(
      "conflict",
      whyNot(result.is, { task, step }, "end" in result ? result.end : undefined),
    );
  });
}

function whyNot(
  is: Exclude<WaitEndResult["is"], "over">,
  { task: { id, state }, step }: { readonly task: Task; readonly step: string },
  end: EndedWait | undefined,
): string {
  if (is === "ended") return `Task ${id} has ended, or is being cancelled`;
  if (is === "asks people") {
    return `Step "${step}" of task ${id} asks people, and only their answer lets it go on: ` +
      `svc task approve ${id} ${step}, or reject`;
  }
  if (is === "has children") {
    return `Step "${step}" of task ${id} waits for the tasks that it started: ` +
      `svc get tasks --parent ${id} lists them, and svc task cancel ends one`;
  }
  if (end === undefined) {
    return `Step "${step}" of task ${id}, which is ${state}, does not wait for a time: ` +
      '"svc get waits" lists the steps that do';
  }
  return `The wait of step "${step}" is over since ${rfc3339(end.at)}: ${howEnded(end)}`;
}
