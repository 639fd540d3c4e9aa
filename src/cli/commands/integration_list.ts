/**
 * `svc integration list`.
 *
 * @module
 */

import { type IntegrationPackage, listPackages } from "../../integrations/packages.ts";
import { type Command, defineCommand, OUTPUT } from "../command.ts";
import { printListing } from "../print.ts";

export const command: Command = defineCommand({
  help:
    "Lists the integration packages that are built into svc, ready to be installed: triggers, " +
    "workflows and prompts for one platform, or a coding agent. Needs no daemon.",
  options: [OUTPUT],
  examples: ["svc integration list", "svc integration list -o json"],
  async run(context) {
    const packages = listPackages();
    const { output } = context.options;
    const listing = {
      items: output === "json" || output === "yaml" ? await viewsOf(packages) : [],
      names: packages.map(({ name }) => `integration/${name}`),
      columns: [
        { header: "NAME", wide: false },
        { header: "PLATFORM", wide: false },
        { header: "DESCRIPTION", wide: false, fit: "text" } as const,
      ],
      rows: packages.map(toRow),
    };
    await printListing(listing, output, context.io);
  },
});

async function viewsOf(packages: readonly IntegrationPackage[]) {
  const { packageView } = await import("../../integrations/package_resources.ts");
  return packages.map(packageView);
}

function toRow({ name, title, summary }: IntegrationPackage): string[] {
  return [name, title, summary];
}
