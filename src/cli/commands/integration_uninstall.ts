/**
 * `svc integration uninstall`: deletes the resources with the label of a package, except those that
 * others use.
 *
 * @module
 */

import type { Client } from "../../api/client.ts";
import type { Output } from "../../api/operations.ts";
import type { DeleteTarget, KeptResource } from "../../api/resource_operations.ts";
import { AppError } from "../../base/errors.ts";
import {
  type IntegrationPackage,
  labelOf,
  PACKAGE_NAMES,
  packageNamed,
} from "../../integrations/packages.ts";
import { KIND_NAMES } from "../../resources/kind_names.ts";
import { DEFAULT_PROJECT } from "../../resources/resource.ts";
import { confirm, YES } from "../confirm.ts";
import {
  type Command,
  CONNECTION,
  type Context,
  defineCommand,
  OUTPUT_TEXT_JSON,
  PROJECT,
} from "../command.ts";
import type { OptionDefinition } from "../option.ts";
import { jsonText } from "../json_text.ts";

const SECRET_STORE = "SecretStore";

const OPTIONS = [
  { flags: "--secrets", help: "also delete its SecretStores, with their values" },
  YES,
  { flags: "--dry-run", help: "print the same, but change nothing" },
  PROJECT,
  ...CONNECTION,
  OUTPUT_TEXT_JSON,
] as const satisfies readonly OptionDefinition[];

export const command: Command = defineCommand({
  help: "Deletes the resources of an integration package: those with the label " +
    "integration=NAME. It keeps and lists those that other resources use, and the SecretStores " +
    "unless you give --secrets. Tasks and records stay. Asks first.",
  arguments: [{
    name: "<name>",
    help: "name of the package, see svc integration list",
    complete: PACKAGE_NAMES,
  }],
  options: OPTIONS,
  examples: [
    "svc integration uninstall github --dry-run",
    "svc integration uninstall github --secrets --yes",
    "svc integration uninstall slack -p shop",
  ],
  async run(context) {
    const { io } = context;
    const pack = packageNamed(context.argument(0));
    const [secrets, dryRun] = [context.options.secrets, context.options.dryRun];
    const storeTargets = await storesOf(pack);
    const targets = [...targetsOf(pack), ...secrets ? storeTargets : []];
    using client = context.client();
    const plan = await remove(targets, { client, context, dryRun: true });
    const stores = secrets ? [] : await find(storeTargets, { client, context });
    if (plan.deleted.length + plan.kept.length + stores.length === 0) {
      throw new AppError(
        "not_found",
        `Nothing of "${pack.name}" is in project ` +
          `"${context.project().project ?? DEFAULT_PROJECT}": no resource has the label ` +
          `${labelOf(pack)}`,
      );
    }
    if (!dryRun && plan.deleted.length > 0) {
      if (io.inIsTerminal && !context.options.yes) io.err(`${plan.deleted.join("\n")}\n`);
      await confirm(`Delete ${countOf(plan.deleted)}?`, context);
    }
    const done = dryRun || plan.deleted.length === 0
      ? plan
      : await remove(targets, { client, context, dryRun });
    const kept = [...done.kept, ...stores.map((name) => ({ name, uses: [] }))];
    if (context.options.output === "json") {
      const shown = { name: pack.name, dry_run: dryRun, deleted: done.deleted, kept };
      return io.out(jsonText(shown));
    }
    const suffix = dryRun ? " (dry run)" : "";
    for (const name of done.deleted) io.out(`${name} deleted${suffix}\n`);
    for (const one of kept) io.out(`${keptLines(one)}\n`);
    if (!dryRun && done.deleted.length > 0) {
      io.err(`note: remove its addresses at ${pack.title} too: svc answers them with 404 now\n`);
    }
  },
});

/** Everything with the package's label that belongs to a project and holds no secrets. */
function targetsOf(pack: IntegrationPackage): DeleteTarget[] {
  return Object.entries(KIND_NAMES)
    .filter(([kind, { global }]) => !global && kind !== SECRET_STORE)
    .map(([kind]) => ({ what: kind, selector: labelOf(pack) }));
}

/**
 * The SecretStores of a package, also by name: one that existed before the package was installed
 * has no label.
 */
async function storesOf(pack: IntegrationPackage): Promise<DeleteTarget[]> {
  const { secretTemplatesOf } = await import("../../integrations/package_resources.ts");
  return [
    { what: SECRET_STORE, selector: labelOf(pack) },
    { what: SECRET_STORE, names: secretTemplatesOf(pack).map(({ name }) => name) },
  ];
}

function remove(
  targets: readonly DeleteTarget[],
  { client, context, dryRun }: {
    client: Client;
    context: Context<typeof OPTIONS>;
    dryRun: boolean;
  },
): Promise<Output<"delete">> {
  return client.call("delete", {
    targets,
    ...context.project(),
    used: "keep",
    ignore_missing: true,
    dry_run: dryRun,
  });
}

/** The resources of `targets` that exist, used or not. */
async function find(
  targets: readonly DeleteTarget[],
  { client, context }: { client: Client; context: Context<typeof OPTIONS> },
): Promise<readonly string[]> {
  const { deleted } = await client.call("delete", {
    targets,
    ...context.project(),
    used: "delete",
    ignore_missing: true,
    dry_run: true,
  });
  return deleted;
}

function countOf(names: readonly string[]): string {
  return names.length === 1 ? "this resource" : `these ${names.length} resources`;
}

function keptLines({ name, uses }: KeptResource): string {
  if (uses.length === 0) return `${name} kept, with its values; --secrets deletes it`;
  return [`${name} kept, because others use it:`, ...uses.map((use) => `  ${use}`)].join("\n");
}
