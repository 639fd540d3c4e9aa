/**
 * `svc disconnect`.
 *
 * @module
 */

import { type Command, CONNECTION, defineCommand, OUTPUT_TEXT_JSON, PROJECT } from "../command.ts";
import { confirm, YES } from "../confirm.ts";
import { doConnectionWork } from "../connection_work.ts";
import { jsonText } from "../json_text.ts";

export const command: Command = defineCommand({
  help:
    "Undoes svc connect: deletes the webhooks of a Connection at its platform, the Connection " +
    "and its token. Triggers, tasks and deliveries stay; --all also deletes the package of the " +
    "platform. The token stays valid: svc prints where its owner can revoke it, or delete the app. Asks first.",
  arguments: [{ name: "<name>", help: "name of the Connection", complete: "connection" }],
  options: [
    { flags: "--all", help: "also delete what svc connect installed: the package and its secret" },
    YES,
    PROJECT,
    ...CONNECTION,
    OUTPUT_TEXT_JSON,
  ],
  examples: ["svc disconnect tidepool", "svc disconnect tidepool --all --yes"],
  async run(context) {
    const { io } = context;
    const name = context.argument(0);
    const all = context.options.all;
    await confirm(`Disconnect "${name}" and delete its webhooks?`, context);
    const input = { name, ...context.project(), all };
    const done = await doConnectionWork("connection.disconnect", input, context);
    if (context.options.output === "json") return io.out(jsonText(done));
    for (const one of done.deleted) io.out(`${one} deleted\n`);
    if (done.app !== null) io.err(`note: the app still exists, delete it: ${done.app}\n`);
    if (done.revoke_at !== null) {
      io.err(`note: the token still works, revoke it: ${done.revoke_at}\n`);
    }
  },
});
