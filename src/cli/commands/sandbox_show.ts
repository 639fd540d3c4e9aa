/**
 * `svc sandbox show`.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { type Command, CONNECTION, defineCommand, OUTPUT_TEXT_JSON, PROJECT } from "../command.ts";
import { jsonText } from "../json_text.ts";
import { SANDBOX } from "../sandbox_argument.ts";
import { sandboxText } from "../sandbox_text.ts";

export const command: Command = defineCommand({
  help:
    "Shows what a step can read, write and reach in a Sandbox, as it is on the machine of the " +
    "daemon: its paths, its network, its limits, and what it does not have. Without a name it " +
    "shows the sandbox that the steps of workflows with agents have by default.",
  arguments: [SANDBOX],
  options: [PROJECT, ...CONNECTION, OUTPUT_TEXT_JSON],
  examples: ["svc sandbox show", "svc sandbox show agents", "svc sandbox show agents -o json"],
  async run(context) {
    using client = context.client();
    const name = context.argument(0) || undefined;
    const view = await client.call("sandbox.show", { ...defined({ name }), ...context.project() });
    context.io.out(context.options.output === "json" ? jsonText(view) : sandboxText(view));
  },
});
