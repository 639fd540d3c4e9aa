/**
 * `svc trigger suspend`.
 *
 * @module
 */

import { type Command, defineCommand } from "../command.ts";
import { PARAMETERS, setSuspended } from "../set_suspended.ts";

export const command: Command = defineCommand({
  help: "Stops a trigger from starting tasks: what arrives is recorded as skipped and can be " +
    "redelivered later (svc delivery redeliver). Tasks that wait or run continue. The next " +
    "apply of a manifest without spec.suspend resumes it.",
  ...PARAMETERS,
  examples: ["svc trigger suspend nightly", "svc trigger suspend push -p shop"],
  run: (context) => setSuspended(context, "trigger.suspend"),
});
