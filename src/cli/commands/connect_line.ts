/**
 * `svc connect line`.
 *
 * @module
 */

import type { Input } from "../../api/operations.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
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
import { printConnected } from "../print_connected.ts";
import { SET_SECRET } from "../set_secret.ts";
import { AGENT_USERS, applyAgent, readConnectedAgent, WITH_AGENT } from "../with_agent.ts";

const OPTIONS = [
  {
    flags: "--url <url>",
    help: "where LINE reaches the daemon, such as https://hooks.example.com",
  },
  {
    flags: "--token <source>",
    help: "the channel access token: - for standard input, @FILE, or env for $LINE_TOKEN; " +
      "otherwise svc asks for it",
  },
  {
    flags: "--channel-secret <source>",
    help: "the channel secret: the same, env for $LINE_CHANNEL_SECRET",
  },
  {
    flags: "--endpoint <name>",
    help: "endpoint of your own triggers, instead of the package line",
  },
  { flags: "--name <name>", help: "name of the Connection (default: line)" },
  { flags: "--api <url>", help: "base URL of LINE's Messaging API, for a proxy" },
  ...WITH_AGENT,
  AGENT_USERS,
  SET_SECRET,
  PROJECT,
  ...CONNECTION,
  OUTPUT_TEXT_JSON,
] as const satisfies readonly OptionDefinition[];

export const command: Command = defineCommand({
  help:
    "Connects a LINE channel: checks the channel access token, installs the package line if no " +
    "trigger takes its events yet, sets the webhook of the channel and has LINE test it. It " +
    "says what is wrong, and which switches you set by hand. Running it again changes nothing. " +
    "Exit 1 if LINE cannot reach the daemon.\n\n" +
    "Both secrets are in the LINE Developers Console: the channel secret in the tab Basic " +
    "settings, the channel access token (long-lived) in the tab Messaging API.\n\n" +
    "With --with, an agent answers the users that --user names. The package of the agent is " +
    "installed if it is not there; svc asks for its key.",
  options: OPTIONS,
  examples: [
    "svc connect line --url https://box.tail1234.ts.net",
    "svc connect line --url https://hooks.example.com --token @token.txt --channel-secret @secret.txt",
    "svc connect line --url https://hooks.example.com --with codex --user U0123456789abcdef0123456789abcdef",
  ],
  async run(context) {
    const input = await toInput(context);
    const agent = await readConnectedAgent("line", { users: context.options.user }, context);
    const connected = await doConnectionWork("connect.line", input, context);
    const applied = agent === undefined ? undefined : await applyAgent(agent, context);
    const after = { next: "write to the account", agent: applied };
    return printConnected(connected, after, context);
  },
});

async function toInput(context: Context<typeof OPTIONS>): Promise<Input<"connect.line">> {
  const url = urlOption("url", context.options.url);
  if (url === undefined) {
    throw new AppError("usage", "Give the address at which LINE reaches the daemon with --url");
  }
  const options = connectOptions(context);
  const isKnown = await findConnection(options.name ?? "line", context);
  const token = await readNewToken(
    {
      what: "channel access token",
      flag: "--token",
      given: context.options.token,
      variable: "LINE_TOKEN",
    },
    isKnown,
    context.io,
  );
  const given = context.options.channelSecret;
  const channelSecret = options.endpoint === undefined || given !== undefined
    ? await readNewToken(
      {
        what: "channel secret",
        flag: "--channel-secret",
        given,
        variable: "LINE_CHANNEL_SECRET",
      },
      isKnown,
      context.io,
    )
    : undefined;
  return {
    ...options,
    url,
    ...defined({ token, channel_secret: channelSecret }),
  };
}
