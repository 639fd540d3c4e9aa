/**
 * `svc trigger resume`.
 *
 * @module
 */

import { type Command, defineCommand } from "../command.ts";
import { PARAMETERS, setSuspended } from "../set_suspended.ts";

export const command: Command = defineCommand({
  help: "Lets a suspended trigger start tasks again. What arrived meanwhile stays skipped; svc " +
    "delivery redeliver --trigger NAME --since 2h --outcome skipped runs it.",
  ...PARAMETERS,
  examples: [
    "svc trigger resume nightly",
    "svc trigger resume push && svc delivery redeliver --trigger push --since 2h --outcome skipped",
  ],
  run: (context) => setSuspended(context, "trigger.resume"),
});
