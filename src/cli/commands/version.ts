/**
 * `svc version`.
 *
 * @module
 */

import { VERSION } from "../../base/version.ts";
import { type Command, type CommandContext, OUTPUT_TEXT_JSON } from "../command.ts";
import { jsonText } from "../json_text.ts";

/** Prints the version of this program and of what it runs on. */
export const command: Command = {
  help: "Prints the version of svc and of the Deno it runs on. Needs no daemon.",
  options: [OUTPUT_TEXT_JSON],
  examples: ["svc version", "svc version -o json"],
  run(context: CommandContext) {
    const facts = { version: VERSION, deno: Deno.version.deno, target: Deno.build.target };
    context.io.out(
      context.option("output") === "json"
        ? jsonText(facts)
        : `svc ${facts.version} (Deno ${facts.deno}, ${facts.target})\n`,
    );
    return Promise.resolve();
  },
};
