/**
 * `svc delete`.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import {
  type Command,
  type CommandContext,
  CONNECTION,
  OUTPUT_TEXT_JSON,
  PROJECT,
} from "../command.ts";

/** Deletes resources. */
export const command: Command = {
  help: "Deletes resources of one kind, all that are named or none. Tasks and records are kept.",
  arguments: [
    { name: "<kind>", help: "KIND/NAME, or KIND followed by names" },
    { name: "[name...]", help: "names" },
  ],
  options: [PROJECT, ...CONNECTION, OUTPUT_TEXT_JSON],
  examples: ["svc delete trigger/github-push", "svc delete workflows build deploy -p shop"],
  async run(context: CommandContext) {
    const [what = "", ...names] = [...context.argument(0).split("/"), ...context.arguments(1)];
    if (names.length === 0) {
      throw new AppError("usage", "Name what to delete: svc delete KIND/NAME");
    }
    using client = context.client();
    const { deleted, hook_failures: failures } = await client.call("delete", {
      what,
      names,
      ...context.project(),
    });
    if (context.option("output") === "json") {
      context.io.out(`${JSON.stringify(deleted, null, 2)}\n`);
    } else {
      for (const name of deleted) context.io.out(`${name} deleted\n`);
    }
    for (const failure of failures) context.io.err(`hook failed: ${failure}\n`);
    return failures.length === 0 ? 0 : 1;
  },
};
