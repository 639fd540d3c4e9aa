/**
 * `svc trigger suspend`.
 *
 * @module
 */

import type { Command, CommandContext } from "../command.ts";
import { PARAMETERS, setSuspended } from "../set_suspended.ts";

/** Suspends a trigger. */
export const command: Command = {
  help: "Lets a trigger start nothing more: what comes is recorded as skipped and can be sent " +
    "again later (svc delivery redeliver). Tasks that wait or run go on. The next apply of a " +
    "manifest without spec.suspend resumes it.",
  ...PARAMETERS,
  examples: ["svc trigger suspend nightly", "svc trigger suspend push -p shop"],
  run: (context: CommandContext) => setSuspended(context, "trigger.suspend"),
};
