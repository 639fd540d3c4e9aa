/**
 * `svc delete`.
 *
 * @module
 */

import type { DeleteTarget } from "../../api/resource_operations.ts";
import { jsonText } from "../json_text.ts";
import { KIND_PLURALS } from "../listed_names.ts";
import { AppError } from "../../base/errors.ts";
import { type Command, type Context, defineCommand } from "../command.ts";
import { cascadeAlone, DELETE_OPTIONS, deleteRecords, findRecords } from "../delete_records.ts";
import { readManifestFiles } from "../manifest_files.ts";

export const command: Command = defineCommand({
  help: "Deletes all of the named resources, or none. A resource that others use is refused " +
    "unless you delete those with it or give --force. Tasks and records stay. A delivery or a " +
    "task is deleted with its content, permanently: svc asks first, and needs the role admin.",
  arguments: [
    {
      name: "[kind]",
      help: "KIND followed by names, or KIND/NAME; delivery or task followed by ids",
      complete: [...KIND_PLURALS, "delivery", "task"],
    },
    { name: "[name...]", help: "names, ids or latest, or more KIND/NAME", complete: "name" },
  ],
  options: DELETE_OPTIONS,
  examples: [
    "svc delete trigger/github-push",
    "svc delete workflows build deploy -p shop",
    "svc delete trigger/nightly workflow/nightly",
    "svc delete -f ./manifests --dry-run",
    "svc delete triggers -l team=web",
    "svc delete delivery latest --cascade",
    "svc delete task 01J8ZQ4T --yes",
  ],
  async run(context) {
    const records = findRecords([context.argument(0), ...context.arguments(1)]);
    if (records !== undefined) {
      await deleteRecords(records, context);
      return 0;
    }
    if (context.options.cascade) throw cascadeAlone();
    const targets = await readTargets(context);
    const dryRun = context.options.dryRun;
    using client = context.client();
    const { deleted, warnings, hook_failures: failures } = await client.call("delete", {
      targets,
      ...context.project(),
      used: context.options.force ? "delete" : "refuse",
      ignore_missing: context.options.ignoreNotFound,
      dry_run: dryRun,
    });
    for (const warning of warnings) context.io.err(`warning: ${warning}\n`);
    for (const failure of failures) context.io.err(`hook failed: ${failure}\n`);
    if (context.options.output === "json") {
      context.io.out(jsonText(deleted));
    } else {
      const suffix = dryRun ? " (dry run)" : "";
      for (const name of deleted) context.io.out(`${name} deleted${suffix}\n`);
      if (deleted.length === 0) context.io.err("Nothing found\n");
    }
    return failures.length === 0 ? 0 : 1;
  },
});

async function readTargets(context: Context<typeof DELETE_OPTIONS>): Promise<DeleteTarget[]> {
  const [first, rest] = [context.argument(0), context.arguments(1)];
  const files = context.options.filename;
  const selector = context.options.selector;
  if (files.length > 0 && (first !== "" || selector !== undefined)) {
    throw new AppError("usage", "-f says what to delete: leave out KIND, names and -l");
  }
  if (files.length > 0) {
    const { targetsOf } = await import("../delete_targets.ts");
    const targets = targetsOf(await readManifestFiles(files, context.io));
    if (targets.length > 0) return targets;
    throw new AppError("invalid", "Nothing to delete: the input names no resource");
  }
  if (selector !== undefined) {
    if (first !== "" && rest.length === 0 && !first.includes("/")) {
      return [{ what: first, selector }];
    }
    throw new AppError("usage", "-l needs one KIND and no names: svc delete KIND -l k=v");
  }
  if (first.includes("/")) return [first, ...rest].map(toTarget);
  if (first === "" || rest.length === 0) {
    throw new AppError("usage", "Name what to delete: svc delete KIND/NAME, or -f FILE");
  }
  return [{ what: first, names: rest }];
}

function toTarget(text: string): DeleteTarget {
  const [, what, name] = /^([^/]+)\/([^/]+)$/.exec(text) ?? [];
  if (what !== undefined && name !== undefined) return { what, names: [name] };
  throw new AppError("usage", `"${text}" is not KIND/NAME, as the first one is`);
}
