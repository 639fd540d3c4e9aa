/**
 * `svc apply`.
 *
 * @module
 */

import type { AgainstResult } from "../../api/resource_operations.ts";
import { AppError } from "../../base/errors.ts";
import {
  type Command,
  type CommandContext,
  CONNECTION,
  OUTPUT_TEXT_JSON,
  PROJECT,
} from "../command.ts";
import { readManifestFiles } from "../manifest_files.ts";
import { printable } from "../terminal_text.ts";

/** Applies manifests. */
export const command: Command = {
  help: "Creates or changes the resources in YAML or JSON files, all of them or none. " +
    "A directory stands for the .yaml, .yml and .json files in it.",
  options: [
    { flags: "-f, --filename <file...>", help: "file, directory, or - for standard input" },
    { flags: "--dry-run", help: "check everything and print the same, but change nothing" },
    {
      flags: "--against <duration>",
      help: "with --dry-run: also run the deliveries of the last 1h, 7d, … through the manifests",
    },
    PROJECT,
    ...CONNECTION,
    OUTPUT_TEXT_JSON,
  ],
  examples: [
    "svc apply -f trigger.yaml",
    "svc apply -f integrations/github --dry-run",
    "svc apply -f trigger.yaml --dry-run --against 7d",
    "generate-manifests | svc apply -f -",
  ],
  async run(context: CommandContext) {
    const names = context.list("filename");
    if (names.length === 0) throw new AppError("usage", "Name a file: svc apply -f FILE");
    const files = await readManifestFiles(names, context.io);
    using client = context.client();
    const dryRun = context.flag("dryRun");
    const span = context.duration("against");
    if (span !== undefined && !dryRun) {
      throw new AppError("usage", "--against goes with --dry-run");
    }
    const { results, warnings, hook_failures: failures, against } = await client.call("apply", {
      files,
      ...context.project(),
      dry_run: dryRun,
      ...(span === undefined ? {} : { against_secs: span }),
    });
    for (const warning of warnings) context.io.err(`warning: ${warning}\n`);
    for (const failure of failures) context.io.err(`hook failed: ${failure}\n`);
    const code = failures.length === 0 ? 0 : 1;
    if (context.option("output") === "json") {
      const shown = against === undefined ? results : { results, against };
      context.io.out(`${JSON.stringify(shown, null, 2)}\n`);
      return code;
    }
    const suffix = dryRun ? " (dry run)" : "";
    for (const { name, action } of results) context.io.out(`${name} ${action}${suffix}\n`);
    if (against !== undefined) printAgainst(against, context);
    return code;
  },
};

function printAgainst({ examined, counts, changed }: AgainstResult, { io }: CommandContext): void {
  io.out(`\n${examined} stored deliveries examined\n`);
  for (const [change, n] of Object.entries(counts)) io.out(`  ${n} ${change}\n`);
  for (const { delivery_id, trigger, change, reason } of changed) {
    io.out(
      `${delivery_id} ${trigger}: ${change}${reason === "" ? "" : ` (${printable(reason)})`}\n`,
    );
  }
}
