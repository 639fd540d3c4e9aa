/**
 * `svc apply`.
 *
 * @module
 */

import type { AgainstResult } from "../../api/resource_operations.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { printCounts } from "../backtest_text.ts";
import {
  type Command,
  CONNECTION,
  type Context,
  defineCommand,
  OUTPUT_TEXT_JSON,
  PROJECT,
} from "../command.ts";
import { DURATION, type OptionDefinition } from "../option.ts";
import { readManifestFiles } from "../manifest_files.ts";
import { printApplied } from "../print_applied.ts";
import { printable } from "../terminal_text.ts";

const OPTIONS = [
  { flags: "-f, --filename <file...>", help: "file, directory, or - for standard input" },
  { flags: "--dry-run", help: "check everything and print the same, but change nothing" },
  {
    flags: "--against <duration>",
    value: DURATION,
    help: "with --dry-run: also run the deliveries of the last 1h, 7d, … through the manifests",
  },
  {
    flags: "--prune",
    help: "with -l: also delete triggers, workflows, agents, step templates and workspaces " +
      "with these labels that are not in the files, in the projects of the files",
  },
  { flags: "-l, --selector <labels>", help: "with --prune: k=v,k2=v2" },
  PROJECT,
  ...CONNECTION,
  OUTPUT_TEXT_JSON,
] as const satisfies readonly OptionDefinition[];

export const command: Command = defineCommand({
  help: "Creates or changes the resources in YAML or JSON files, all of them or none. " +
    "A directory stands for the .yaml, .yml and .json files in it.",
  options: OPTIONS,
  examples: [
    "svc apply -f trigger.yaml",
    "svc apply -f integrations/github --dry-run",
    "svc apply -f trigger.yaml --dry-run --against 7d",
    "svc apply -f ./manifests --prune -l app=shop --dry-run",
    "generate-manifests | svc apply -f -",
  ],
  async run(context) {
    const names = context.options.filename;
    if (names.length === 0) throw new AppError("usage", "Name a file: svc apply -f FILE");
    const files = await readManifestFiles(names, context.io);
    using client = context.client();
    const dryRun = context.options.dryRun;
    const span = context.options.against;
    if (span !== undefined && !dryRun) {
      throw new AppError("usage", "--against requires --dry-run");
    }
    const prune = readPrune(context);
    const applied = await client.call("apply", {
      files,
      ...context.project(),
      dry_run: dryRun,
      ...defined({ against_secs: span, prune }),
    });
    const code = printApplied(applied, context, dryRun ? " (dry run)" : "");
    if (applied.against !== undefined && context.options.output !== "json") {
      printAgainst(applied.against, context);
    }
    return code;
  },
});

/** The labels of the resources that may be pruned. */
function readPrune(context: Context<typeof OPTIONS>): string | undefined {
  const selector = context.options.selector;
  if (context.options.prune === (selector !== undefined)) return selector;
  throw new AppError(
    "usage",
    selector === undefined
      ? "--prune needs -l: without labels it would delete everything that is not in these files"
      : "-l requires --prune: it selects what to delete",
  );
}

function printAgainst(against: AgainstResult, { io }: Context<typeof OPTIONS>): void {
  printCounts(against, io);
  for (const { delivery_id, trigger, change, reason } of against.changed) {
    io.out(
      `${delivery_id} ${trigger}: ${change}${reason === "" ? "" : ` (${printable(reason)})`}\n`,
    );
  }
}
