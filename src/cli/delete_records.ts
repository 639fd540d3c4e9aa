/**
 * `svc delete delivery` and `svc delete task`: deletes records with their content, one at a time
 * and for good.
 *
 * @module
 */

import type { Client } from "../api/client.ts";
import type { DeletedRecords } from "../api/record_operations.ts";
import { AppError } from "../base/errors.ts";
import { findRecordName } from "../resources/record_names.ts";
import { CONNECTION, type Context, OUTPUT_TEXT_JSON, PROJECT } from "./command.ts";
import type { OptionDefinition } from "./option.ts";
import { confirm, YES } from "./confirm.ts";
import { jsonText } from "./json_text.ts";

/** The options of `svc delete`. */
export const DELETE_OPTIONS = [
  {
    flags: "-f, --filename <file...>",
    help: "delete what these name: file, directory, or - for standard input",
  },
  { flags: "-l, --selector <labels>", help: "with KIND: all with these labels: k=v,k2=v2" },
  { flags: "--force", help: "also delete what others use" },
  { flags: "--cascade", help: "with a delivery: also the tasks of its events" },
  { ...YES, help: "do not ask before deleting records" },
  { flags: "--ignore-not-found", help: "ignore what does not exist" },
  { flags: "--dry-run", help: "print the same, but change nothing" },
  PROJECT,
  ...CONNECTION,
  OUTPUT_TEXT_JSON,
] as const satisfies readonly OptionDefinition[];

type DeleteContext = Context<typeof DELETE_OPTIONS>;

/** A record that can be deleted. */
interface Named {
  readonly record: "delivery" | "task";
  /** Id, a part of it, or `latest`. */
  readonly id: string;
}

/**
 * The records that the arguments name, if their type can be deleted; `undefined` for any other
 * name, which the daemon has to look up.
 *
 * @throws {AppError} `usage` for records together with something else.
 */
export function findRecords(args: readonly string[]): readonly Named[] | undefined {
  const [first = "", ...rest] = args;
  if (!first.includes("/")) {
    const record = deletable(first);
    return record === undefined ? undefined : rest.map((id) => ({ record, id }));
  }
  const named = args.map((text) => {
    const at = text.indexOf("/");
    return { record: deletable(text.slice(0, Math.max(0, at))), id: text.slice(at + 1) };
  });
  if (named.every(({ record }) => record === undefined)) return undefined;
  return named.map(({ record, id }, index) => {
    if (record !== undefined) return { record, id };
    throw new AppError(
      "usage",
      `"${args[index]}" is not a delivery or task: delete resources with a separate command`,
    );
  });
}

/** The refusal of `--cascade` without a delivery. */
export function cascadeAlone(): AppError {
  return new AppError("usage", "--cascade is only for a delivery: svc delete delivery ID");
}

function deletable(word: string): Named["record"] | undefined {
  const name = findRecordName(word);
  return name === "delivery" || name === "task" ? name : undefined;
}

/** Deletes records, after a question that names everything that is deleted with them. */
export async function deleteRecords(
  named: readonly Named[],
  context: DeleteContext,
): Promise<void> {
  if (named.length === 0) {
    throw new AppError("usage", "Name what to delete: svc delete delivery ID, or latest");
  }
  const isForResources = context.options.filename.length > 0 ||
    context.options.selector !== undefined || context.options.force;
  if (isForResources) {
    throw new AppError("usage", "-f, -l and --force are for resources: name records by their ids");
  }
  if (context.options.cascade && named.every(({ record }) => record === "task")) {
    throw cascadeAlone();
  }
  using client = context.client();
  const planned = await Promise.all(
    [...new Map(named.map((one) => [`${one.record}/${one.id}`, one])).values()]
      .map((one) => plan(client, one, context)),
  );
  const found = planned.filter((one) => one !== undefined);
  const isDry = context.options.dryRun;
  const all = new Set(found.flatMap(({ deleted }) => deleted));
  if (!isDry && all.size > 0) await confirm(`Delete ${listed([...all])} for good?`, context);
  const done: DeletedRecords[] = [];
  for (const one of found) {
    const isGone = done.some(({ deleted }) => deleted.includes(one.deleted[0] ?? ""));
    if (isGone) continue; // a task that was named and went with its delivery
    done.push(isDry ? one : await remove(client, one, context));
  }
  print(done, context);
}

/** Most records that the question names. */
const MAX_NAMED = 5;

function listed(names: readonly string[]): string {
  const more = names.length - MAX_NAMED;
  return names.slice(0, MAX_NAMED).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** What would be deleted; `undefined` for a missing record with `--ignore-not-found`. */
async function plan(
  client: Client,
  { record, id }: Named,
  context: DeleteContext,
): Promise<DeletedRecords | undefined> {
  try {
    return await ask(client, { record, id, dryRun: true }, context);
  } catch (error) {
    const isMissing = error instanceof AppError && error.code === "not_found";
    if (isMissing && context.options.ignoreNotFound) return undefined;
    throw error;
  }
}

/** Deletes what was planned, by its whole id: `latest` may be another record by now. */
function remove(
  client: Client,
  { deleted: [first = ""] }: DeletedRecords,
  context: DeleteContext,
): Promise<DeletedRecords> {
  const [record, id = ""] = first.split("/");
  const named = { record: record === "task" ? "task" : "delivery", id } as const;
  return ask(client, { ...named, dryRun: false }, context);
}

function ask(
  client: Client,
  { record, id, dryRun }: Named & { readonly dryRun: boolean },
  context: DeleteContext,
): Promise<DeletedRecords> {
  if (record === "task") return client.call("task.delete", { id, dry_run: dryRun });
  const cascade = context.options.cascade;
  return client.call("delivery.delete", { id, cascade, dry_run: dryRun });
}

function print(done: readonly DeletedRecords[], context: DeleteContext): void {
  const deleted = [...new Set(done.flatMap((one) => one.deleted))];
  const suffix = context.options.dryRun ? " (dry run)" : "";
  if (context.options.output === "json") context.io.out(jsonText(deleted));
  else for (const name of deleted) context.io.out(`${name} deleted${suffix}\n`);
  if (deleted.length === 0) context.io.err("Nothing found\n");
  const kept = new Set(done.flatMap((one) => one.kept_by).filter((one) => !deleted.includes(one)));
  if (kept.size > 0) {
    const verb = kept.size === 1 ? "still holds" : "still hold";
    context.io.err(`warning: ${[...kept].join(", ")} ${verb} some of the same content\n`);
  }
  for (const warning of done.flatMap((one) => one.warnings)) {
    context.io.err(`warning: ${warning}\n`);
  }
}
