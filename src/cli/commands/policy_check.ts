/**
 * `svc policy check`.
 *
 * @module
 */

import { resolve } from "node:path";
import {
  type Command,
  type Context,
  DATA_DIR,
  defineCommand,
  OUTPUT_TEXT_JSON,
} from "../command.ts";
import type { OptionDefinition } from "../option.ts";
import { jsonText } from "../json_text.ts";
import { printable } from "../terminal_text.ts";

/** The option `--plugin-root`, with the same meaning as for the daemon. */
export const PLUGIN_ROOT = {
  flags: "--plugin-root <dir>",
  help: "where relative commands start, as given to the daemon (default: the data directory)",
} as const satisfies OptionDefinition;

const OPTIONS = [
  DATA_DIR,
  PLUGIN_ROOT,
  OUTPUT_TEXT_JSON,
] as const satisfies readonly OptionDefinition[];

export const command: Command = defineCommand({
  help: "Says whether a plugin's command may run now, and by which rule of the plugin policy. " +
    "Exit 0 when it may run (under mode audit, every command may), else 1. Give the command " +
    "as one quoted argument after --. Needs no daemon.",
  arguments: [{ name: "<command...>", help: "the command, exactly as in the plugin" }],
  options: OPTIONS,
  examples: [
    `svc policy check -- 'scripts/verify.sh "$WEBHOOK_HEADER_X_SIGNATURE"'`,
    "svc policy check -o json -- 'scripts/refresh.sh | scripts/store.sh'",
  ],
  async run(context) {
    const { decideCommand } = await import("../../plugins/policy/policy.ts");
    const { fileFacts, readPolicy } = await import("../../plugins/policy/policy_file.ts");
    const line = context.arguments(0).join(" ");
    const reading = await readPolicy(context.dir());
    const { mode, decision } = "closed" in reading
      ? {
        mode: "closed",
        decision: { verdict: "denied", rule: "policy_closed", reason: reading.closed } as const,
      }
      : {
        mode: reading.policy.mode,
        decision: decideCommand(line, reading.policy, {
          ...fileFacts(pluginRoot(context)),
          when: "run",
        }),
      };
    const facts = { verdict: decision.verdict, rule: decision.rule, mode, reason: decision.reason };
    if (context.options.output === "json") {
      context.io.out(jsonText({ command: line, ...facts }));
    } else {
      const lines = Object.entries(facts).filter(([, value]) => value !== "");
      context.io.out(
        lines.map(([name, value]) => `${`${name}:`.padEnd(9)}${printable(value)}\n`).join(""),
      );
    }
    return decision.verdict === "denied" ? 1 : 0;
  },
});

/** The directory from which relative paths of commands start. */
export function pluginRoot(context: Context<typeof OPTIONS>): string {
  return resolve(context.options.pluginRoot ?? context.dir().root);
}
