/**
 * `svc integration install`: applies the manifests of a package, as `svc apply -f DIR` does with
 * its directory, with the secrets filled in.
 *
 * @module
 */

import type { ApplyOutcome } from "../../api/resource_operations.ts";
import { AppError } from "../../base/errors.ts";
import {
  type IntegrationPackage,
  manifestsOf,
  PACKAGE_NAMES,
  packageNamed,
} from "../../integrations/packages.ts";
import { DEFAULT_PROJECT } from "../../resources/resource.ts";
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
import { fillSecrets } from "../package_secrets.ts";
import { readSetSecrets, SET_SECRET } from "../set_secret.ts";
import {
  AGENT_USERS,
  agentPackage,
  readAgentFiles,
  toManifests,
  WITH_AGENT,
} from "../with_agent.ts";

const OPTIONS = [
  SET_SECRET,
  {
    flags: "--url <url>",
    help: "where the platform reaches the daemon, such as https://hooks.example.com",
  },
  ...WITH_AGENT,
  {
    flags: "--repository <owner/name>",
    help: "with --with, at GitHub: the repository in which the agent answers",
  },
  AGENT_USERS,
  { flags: "--dry-run", help: "check everything and print the same, but change nothing" },
  PROJECT,
  ...CONNECTION,
  OUTPUT_TEXT_JSON,
] as const satisfies readonly OptionDefinition[];

export const command: Command = defineCommand({
  help: "Applies an integration package, all of it or nothing, and prints the addresses to " +
    "paste into the platform, if it has any. Running it again resets the package's resources and keeps the " +
    "secrets, unless you give new ones.\n\n" +
    "With --with, an agent answers the platform: a second workflow beside those that print. That needs a " +
    "Connection (svc connect has the same option).",
  arguments: [{
    name: "<name>",
    help: "name of the package, see svc integration list",
    complete: PACKAGE_NAMES,
  }],
  options: OPTIONS,
  examples: [
    "svc integration install github --set-secret webhook_secret=-",
    "svc integration install slack --set-secret signing_secret=@secret.txt --url https://hooks.example.com",
    "svc integration install claude-code --set-secret api_key=-",
    "svc integration install line --dry-run -o json",
    "svc integration install github --with codex --repository acme/app --clone ~/app --set-secret api_key=-",
  ],
  async run(context) {
    const pack = packageNamed(context.argument(0));
    const { endpointsOfPackage, secretTemplatesOf } = await import(
      "../../integrations/package_resources.ts"
    );
    const templates = secretTemplatesOf(pack);
    const { with: agent, clone, repository, user: users } = context.options;
    if (agent === undefined && (clone ?? repository ?? users[0]) !== undefined) {
      const message = "--clone, --repository and --user are for an agent: add --with";
      throw new AppError("usage", message);
    }
    const own = agentPackage(agent);
    const ofAgent = own === undefined ? [] : secretTemplatesOf(own);
    const keys = [...templates, ...ofAgent].flatMap((store) => store.keys);
    const given = await readSetSecrets(keys, context);
    const url = readUrl(context);
    const dryRun = context.options.dryRun;
    using client = context.client();
    const endpoints = endpointsOfPackage(pack);
    // A package without a trigger has no address.
    const base = url ??
      (endpoints.size === 0 ? null : (await client.call("status", {})).webhook_url);
    const filled = await fillSecrets({ name: pack.name, templates }, given, { client, context });
    const place = { repository, users };
    const added = agent === undefined
      ? undefined
      : await readAgentFiles(pack, agent, { place, secrets: given, context, client });
    const kept = [...filled.kept, ...added?.kept ?? []];
    const applied = await client.call("apply", {
      files: [
        ...filled.files,
        ...toManifests(pack, manifestsOf(pack)),
        ...added?.files ?? [],
      ],
      ...context.project(),
      dry_run: dryRun,
    });
    for (const warning of applied.warnings) context.io.err(`warning: ${warning}\n`);
    for (const failure of applied.hook_failures) context.io.err(`hook failed: ${failure}\n`);
    const addresses = addressesOf(endpoints, applied.results, base);
    const code = applied.hook_failures.length === 0 ? 0 : 1;
    if (context.options.output === "json") {
      const shown = { name: pack.name, dry_run: dryRun, results: applied.results, kept, addresses };
      context.io.out(jsonText(shown));
      return code;
    }
    const suffix = dryRun ? " (dry run)" : "";
    for (const name of kept) context.io.out(`${name} kept as it is\n`);
    for (const { name, action } of applied.results) context.io.out(`${name} ${action}${suffix}\n`);
    if (addresses.length > 0) {
      printAddresses(pack, addresses, context);
      noteOn(base, context);
    }
    if (added !== undefined) context.io.out(`\nThen ${added.next}\n`);
    return code;
  },
});

/** The address at which one trigger or several take requests. */
interface Address {
  readonly endpoint: string;
  readonly triggers: readonly string[];
  readonly path: string;
  /** `null` as long as the address of the daemon is not known. */
  readonly url: string | null;
}

function addressesOf(
  endpoints: ReadonlyMap<string, readonly string[]>,
  results: readonly ApplyOutcome[],
  base: string | null,
): Address[] {
  return [...endpoints].map(([endpoint, triggers]) => {
    const project = results.find(({ name }) => name === `trigger/${triggers[0]}`)?.project;
    const place = project === undefined || project === DEFAULT_PROJECT ? "" : `/${project}`;
    const path = `/webhook${place}/${endpoint}`;
    return { endpoint, triggers, path, url: base === null ? null : `${base}${path}` };
  });
}

function printAddresses(
  { name, title }: IntegrationPackage,
  addresses: readonly Address[],
  { io }: Context<typeof OPTIONS>,
): void {
  io.out(`\nEnter these at ${title} (svc integration show ${name} says where):\n`);
  for (const { triggers, url, path } of addresses) {
    io.out(`  ${url ?? path}\n${triggers.map((one) => `    for ${one}\n`).join("")}`);
  }
}

/** Hosts that mean this machine, or all of its addresses. */
const LOCAL = /^https?:\/\/(localhost|127\.[0-9.]+|0\.0\.0\.0|\[::1?\])(:[0-9]+)?(\/|$)/i;

function noteOn(base: string | null, { io }: Context<typeof OPTIONS>): void {
  if (base === null) {
    io.err(
      "note: the daemon receives no webhooks (--webhook-bind none); --url completes the list\n",
    );
  } else if (LOCAL.test(base)) {
    io.err(
      "note: that address is for this machine only; the platform needs a public one with HTTPS, " +
        "give it with --url\n",
    );
  }
}

function readUrl(context: Context<typeof OPTIONS>): string | undefined {
  const url = context.options.url;
  if (url === undefined || /^https?:\/\/[^\s/?#]+[^\s?#]*$/i.test(url)) {
    return url?.replace(/\/+$/, "");
  }
  throw new AppError("usage", "--url takes the base of the addresses, such as https://HOST");
}
