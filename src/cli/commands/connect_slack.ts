/**
 * `svc connect slack`.
 *
 * @module
 */

import type { Input } from "../../api/operations.ts";
import { defined } from "../../base/defined.ts";
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
} from "../connection_work.ts";
import { printConnected } from "../print_connected.ts";
import { SET_SECRET } from "../set_secret.ts";
import { applyAgent, readConnectedAgent, WITH_AGENT } from "../with_agent.ts";

/** The app as Slack makes it from the link. */
const MANIFEST = `display_information:
  name: svc
  description: Starts workflows
features:
  app_home:
    messages_tab_enabled: true
    messages_tab_read_only_enabled: false
  bot_user:
    display_name: svc
    always_online: true
  slash_commands:
    - command: /svc
      description: Start a workflow
      should_escape: false
oauth_config:
  scopes:
    bot:
      - app_mentions:read
      - chat:write
      - commands
      - im:history
settings:
  event_subscriptions:
    bot_events:
      - app_mention
      - message.im
  interactivity:
    is_enabled: true
  org_deploy_enabled: false
  socket_mode_enabled: true
  token_rotation_enabled: false
`;

/** What has to be done in a browser before there are tokens. */
const STEPS = `1. Create the app with this link, which fills in its settings:

   https://api.slack.com/apps?new_app=1&manifest_yaml=${encodeURIComponent(MANIFEST)}

2. Install App, Install to Workspace: copy the Bot User OAuth Token (xoxb-…).
3. Basic Information, App-Level Tokens, Generate: scope connections:write; copy it (xapp-…).

`;

const OPTIONS = [
  {
    flags: "--bot-token <source>",
    help: "the token xoxb-…: - for standard input, @FILE, or env for $SLACK_BOT_TOKEN; otherwise " +
      "svc asks for it",
  },
  {
    flags: "--app-token <source>",
    help: "the token xapp-…: the same, env for $SLACK_APP_TOKEN",
  },
  {
    flags: "--endpoint <name>",
    help: "endpoint of your own triggers, instead of the package slack",
  },
  { flags: "--name <name>", help: "name of the Connection (default: slack)" },
  { flags: "--api <url>", help: "base URL of Slack's Web API, for a proxy" },
  ...WITH_AGENT,
  SET_SECRET,
  PROJECT,
  ...CONNECTION,
  OUTPUT_TEXT_JSON,
] as const satisfies readonly OptionDefinition[];

export const command: Command = defineCommand({
  help: "Connects a Slack app over Socket Mode, which needs no public address: prints the link " +
    "that creates the app, checks its two tokens, installs the package slack if no trigger " +
    "takes its events yet, opens the socket and waits for Slack's hello. It says what is " +
    "wrong, missing scopes included. Running it again changes nothing. Exit 1 if the socket " +
    "does not open.\n\n" +
    "With --with, an agent answers mentions of the app and messages to it, in their threads. The " +
    "package of the agent is installed if it is not there; svc asks for its key.",
  options: OPTIONS,
  examples: [
    "svc connect slack",
    "svc connect slack --bot-token @bot.txt --app-token @app.txt",
    "svc connect slack --bot-token env --app-token env --endpoint chat",
    "svc connect slack --with claude-code --clone ~/tidepool",
  ],
  async run(context) {
    const input = await toInput(context);
    const agent = await readConnectedAgent("slack", { connection: input.name }, context);
    const connected = await doConnectionWork("connect.slack", input, context);
    const applied = agent === undefined ? undefined : await applyAgent(agent, context);
    const after = { next: "write to the app, or /invite it and mention it", agent: applied };
    return printConnected(connected, after, context);
  },
});

async function toInput(context: Context<typeof OPTIONS>): Promise<Input<"connect.slack">> {
  const options = connectOptions(context);
  const [bot, app] = [context.options.botToken, context.options.appToken];
  const isKnown = await findConnection(options.name ?? "slack", context);
  if (!isKnown && bot === undefined && app === undefined) context.io.err(STEPS);
  const botToken = await readNewToken(
    { what: "bot token xoxb-…", flag: "--bot-token", given: bot, variable: "SLACK_BOT_TOKEN" },
    isKnown,
    context.io,
  );
  const appToken = await readNewToken(
    {
      what: "app-level token xapp-…",
      flag: "--app-token",
      given: app,
      variable: "SLACK_APP_TOKEN",
    },
    isKnown,
    context.io,
  );
  return {
    ...options,
    ...defined({ bot_token: botToken, app_token: appToken }),
  };
}
