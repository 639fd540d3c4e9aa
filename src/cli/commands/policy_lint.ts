/**
 * `svc policy lint`: finds rules of a valid policy that allow too much, or that can never match.
 *
 * @module
 */

import { findText } from "../../base/bytes.ts";
import { AppError } from "../../base/errors.ts";
import type { PolicyReading } from "../../plugins/policy/policy.ts";
import { type Command, DATA_DIR, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import type { Io } from "../io.ts";
import { PLUGIN_ROOT, pluginRoot } from "./policy_check.ts";
import { jsonText } from "../json_text.ts";
import { inputName, readFile } from "../read_file.ts";
import { printable } from "../terminal_text.ts";

export const command: Command = defineCommand({
  help: "Looks for mistakes in a plugin policy: errors, with which no plugin runs, and prefixes " +
    "that allow more than they seem to, or nothing. Exit 1 when there are errors. Needs no " +
    "daemon.",
  arguments: [{
    name: "[file]",
    help: "the policy (default: plugin-policy.yaml in the data directory)",
  }],
  options: [DATA_DIR, PLUGIN_ROOT, OUTPUT_TEXT_JSON],
  examples: ["svc policy lint", "svc policy lint deploy/plugin-policy.yaml"],
  async run(context) {
    const { policyPath, readPolicy } = await import("../../plugins/policy/policy_file.ts");
    const { findWarnings } = await import("../policy_warnings.ts");
    const file = context.argument(0);
    const reading = file === ""
      ? await readPolicy(context.dir())
      : await readPolicyFile(file, context.io);
    const errors = "closed" in reading ? reading.errors : [];
    const warnings = "closed" in reading ? [] : await findWarnings(reading, pluginRoot(context));
    if (context.options.output === "json") {
      context.io.out(jsonText({ errors, warnings }));
    } else {
      for (const line of errors) context.io.out(`error: ${printable(line)}\n`);
      for (const line of warnings) context.io.out(`warning: ${printable(line)}\n`);
      if (errors.length + warnings.length === 0) {
        context.io.out(
          `${file === "" ? policyPath(context.dir()) : inputName(file)}: no mistakes found\n`,
        );
      }
    }
    return errors.length > 0 ? 1 : 0;
  },
});

async function readPolicyFile(path: string, io: Io): Promise<PolicyReading> {
  const name = inputName(path);
  const text = findText(await readFile(path, io));
  if (text === undefined) throw new AppError("invalid", `"${name}" is not UTF-8`);
  const { parsePolicy } = await import("../../plugins/policy/policy.ts");
  return parsePolicy(text, name);
}
