/**
 * `svc connect github`.
 *
 * @module
 */

import type { Connected } from "../../api/connection_operations.ts";
import type { Input } from "../../api/operations.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { AGENT_EVENTS, PACKAGE_EVENTS } from "../../base/github_names.ts";
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
  {
    flags: "--app",
    help: "register a GitHub App in your browser and connect it, in place of a repository and a " +
      "token",
  },
  { flags: "--org <name>", help: "the organization that the app is for (default: your account)" },
  {
    flags: "--paste",
    help: "with --app, where no browser reaches this machine: copy two addresses by hand",
  },
  { flags: "--name <name>", help: "name of the Connection (default: that of the repository)" },
  {
    flags: "--endpoint <name>",
    help: "endpoint of your own triggers, instead of the package github",
  },
  {
    flags: "--event <name...>",
    help: "events to send (default: those of the package, and of its agent)",
  },
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
    "With --app, it registers a GitHub App instead: svc prints an address for your browser, GitHub " +
    "asks you once, and then you install the app on the repositories that svc is for. Each token " +
    "of an app is for one repository and the rights of one message.\n\n" +
    "With --with, an agent answers comments of those who may write to the repository: comments in " +
    "which a line begins with /svc. The package of the agent is installed if it is not there; svc " +
    "asks for its key. Run the command in a clone of the repository, or name one with --clone.",
  arguments: [{ name: "[to]", help: "OWNER/REPOSITORY, or the name of an organization" }],
  options: OPTIONS,
  examples: [
    "svc connect github brightwater/tidepool --url https://box.tail1234.ts.net",
    "svc connect github brightwater/tidepool --pull --token @token.txt",
    "svc connect github brightwater/tidepool --pull --with claude-code --clone ~/tidepool",
    "svc connect github acme --url https://hooks.example.com --token env -o json",
    "svc connect github --app --org acme --url https://hooks.example.com",
    "svc connect github ada/app --api https://git.example.com/api/v1 --url https://hooks.example.com",
  ],
  async run(context) {
    if (context.options.app) return await connectApp(context);
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

/** Registers an App, or finds that it is there, and connects it. */
async function connectApp(context: Context<typeof OPTIONS>): Promise<number> {
  const { io, options } = context;
  const idle = [
    ...(context.argument(0) === "" ? [] : [`"${context.argument(0)}"`]),
    ...(options.with === undefined ? [] : ["--with"]),
    ...(options.token === undefined ? [] : ["--token"]),
  ];
  if (idle.length > 0) {
    throw new AppError(
      "usage",
      `${idle.join(" and ")} cannot go with --app: you install an app where you want it`,
    );
  }
  const url = wayOf(context);
  const input = {
    ...connectOptions(context),
    pull: options.pull,
    ...defined({ url, organization: options.org }),
    ...(options.event.length === 0 ? {} : { events: [...options.event] }),
  };
  const { registerApp } = await import("../register_app.ts");
  const code = await registerApp(input, { paste: options.paste, context });
  const { events: _, ...rest } = input;
  const given = { ...rest, ...defined({ code }) };
  const connected = await doConnectionWork("connect.github_app", given, context);
  io.out(options.output === "json" ? jsonText(connected) : textOf(connected, undefined));
  return connected.check?.ok === false ? 1 : 0;
}

/** The address at which GitHub reaches the daemon; `undefined` with `--pull`, if none is given. */
function wayOf(context: Context<typeof OPTIONS>): string | undefined {
  const url = urlOption("url", context.options.url);
  if (context.options.pull || url !== undefined) return url;
  const message =
    "Give the address at which GitHub reaches the daemon with --url, or use --pull without one";
  throw new AppError("usage", message);
}

async function toInput(context: Context<typeof OPTIONS>): Promise<Input<"connect.github">> {
  const to = context.argument(0);
  if (to === "") {
    throw new AppError("usage", "Name OWNER/REPOSITORY or an organization, or give --app");
  }
  const idle = (["org", "paste"] as const).filter((name) =>
    context.options[name] !== undefined && context.options[name] !== false
  );
  if (idle.length > 0) throw new AppError("usage", `--${idle[0]} is for --app`);
  const at = to.includes("/") ? { repository: to } : { organization: to };
  const options = connectOptions(context);
  const url = wayOf(context);
  const pull = context.options.pull;
  const { event, with: agent } = context.options;
  const ofAgent = agent === undefined ? [] : [...PACKAGE_EVENTS, ...AGENT_EVENTS];
  const events = event.length === 0 ? ofAgent : event;
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
