/**
 * `svc connect github`.
 *
 * @module
 */

import type { Connected } from "../../api/connection_operations.ts";
import type { Input } from "../../api/operations.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { defaultConnectionName } from "../../resources/names.ts";
import {
  type Command,
  CONNECTION,
  type Context,
  defineCommand,
  OUTPUT_TEXT_JSON,
  PROJECT,
} from "../command.ts";
import type { OptionDefinition } from "../option.ts";
import {
  connectOptions,
  doConnectionWork,
  findConnection,
  readNewToken,
  urlOption,
} from "../connection_work.ts";
import { jsonText } from "../json_text.ts";
import { SET_SECRET } from "../set_secret.ts";
import {
  type AgentApplied,
  agentText,
  applyAgent,
  readConnectedAgent,
  WITH_AGENT,
} from "../with_agent.ts";

const OPTIONS = [
  {
    flags: "--url <url>",
    help: "where GitHub reaches the daemon, such as https://hooks.example.com",
  },
  {
    flags: "--pull",
    help: "without a public address: read the events from GitHub's log every 15 seconds",
  },
  {
    flags: "--token <source>",
    help: "the token: - for standard input, @FILE, or env for $GITHUB_TOKEN; otherwise svc asks " +
      "for it",
  },
  {
    flags: "--api <url>",
    help: "API of another server: https://HOST/api/v3 (GitHub Enterprise), …/api/v1 (Gitea)",
  },
  { flags: "--name <name>", help: "name of the Connection (default: that of the repository)" },
  {
    flags: "--endpoint <name>",
    help: "endpoint of your own triggers, instead of the package github",
  },
  { flags: "--event <name...>", help: "events to send (default: those of the package)" },
  ...WITH_AGENT,
  SET_SECRET,
  PROJECT,
  ...CONNECTION,
  OUTPUT_TEXT_JSON,
] as const satisfies readonly OptionDefinition[];

export const command: Command = defineCommand({
  help: "Connects a GitHub repository or organization in one step: checks the token, creates a " +
    "secret and the webhook, installs the package github if no trigger takes its events yet, " +
    "and waits for GitHub's ping. It says what is wrong on the way (DNS, TLS, proxy, path, " +
    "secret). Running it again repairs only what was changed by hand. The daemon keeps the " +
    "token and recovers events that GitHub could not deliver. Exit 1 if the ping does not " +
    "arrive.\n\n" +
    "A fine-grained token needs the permission Webhooks: read and write (a classic one " +
    "admin:repo_hook). --api connects GitHub Enterprise, Gitea or Forgejo in the same way.\n\n" +
    "With --with, an agent answers comments of those who may write to the repository: comments in " +
    "which a line begins with /svc. The package of the agent is installed if it is not there; svc " +
    "asks for its key. Run the command in a clone of the repository, or name one with --clone.",
  arguments: [{ name: "<to>", help: "OWNER/REPOSITORY, or the name of an organization" }],
  options: OPTIONS,
  examples: [
    "svc connect github brightwater/tidepool --url https://box.tail1234.ts.net",
    "svc connect github brightwater/tidepool --pull --token @token.txt",
    "svc connect github brightwater/tidepool --pull --with claude-code --clone ~/tidepool",
    "svc connect github acme --url https://hooks.example.com --token env -o json",
    "svc connect github ada/app --api https://git.example.com/api/v1 --url https://hooks.example.com",
  ],
  async run(context) {
    const input = await toInput(context);
    const { repository } = input;
    if (repository === undefined && context.options.with !== undefined) {
      const message =
        "An agent answers in one repository: connect the organization without --with, then " +
        "svc integration install github --with AGENT --repository OWNER/NAME --clone DIR";
      throw new AppError("usage", message);
    }
    const agent = await readConnectedAgent("github", { repository }, context);
    const connected = await doConnectionWork("connect.github", input, context);
    const applied = agent === undefined ? undefined : await applyAgent(agent, context);
    const isOk = connected.check?.ok !== false;
    if (context.options.output === "json") {
      context.io.out(jsonText({ ...connected, ...defined({ agent: applied }) }));
    } else context.io.out(textOf(connected, applied));
    return isOk ? 0 : 1;
  },
});

async function toInput(context: Context<typeof OPTIONS>): Promise<Input<"connect.github">> {
  const to = context.argument(0);
  const at = to.includes("/") ? { repository: to } : { organization: to };
  const options = connectOptions(context);
  const url = urlOption("url", context.options.url);
  const pull = context.options.pull;
  if (!pull && url === undefined) {
    const message =
      "Give the address at which GitHub reaches the daemon with --url, or use --pull without " +
      "one";
    throw new AppError("usage", message);
  }
  const events = context.options.event;
  const given = context.options.token;
  const token = await readNewToken(
    { what: "token of GitHub", flag: "--token", given, variable: "GITHUB_TOKEN" },
    await findConnection(options.name ?? defaultConnectionName(to), context),
    context.io,
  );
  return {
    ...at,
    ...options,
    pull,
    ...defined({ url }),
    ...(events.length === 0 ? {} : { events: [...events] }),
    ...defined({ token }),
  };
}

function textOf(
  { name, to, resources, hooks, check, events }: Connected,
  agent: AgentApplied | undefined,
): string {
  const changed = resources.filter(({ action }) => action !== "unchanged");
  const isNew = changed.length > 0 || hooks.some(({ action }) => action !== "unchanged");
  const lines = changed.map((one) => `${one.name} ${one.action}`);
  const ways = { push: "", pull: "; its log is read every 15 seconds" };
  const how = events === "pull" ? ways.pull : ways.push;
  const end = check?.ok === false
    ? `connection/${name} is made, but its events do not arrive: ${check.message}. Then run this ` +
      "command again"
    : isNew
    ? `connection/${name}: ${to} is connected${how}`
    : `connection/${name}: ${to} is connected${how}, nothing had to be changed`;
  return [...lines, end].map((line) => `${line}\n`).join("") +
    agentText(agent, check?.ok !== false);
}
