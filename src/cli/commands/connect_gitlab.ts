/**
 * `svc connect gitlab`.
 *
 * @module
 */

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
import {
  connectOptions,
  doConnectionWork,
  findConnection,
  readNewToken,
  urlOption,
} from "../connection_work.ts";
import type { OptionDefinition } from "../option.ts";
import { printConnected } from "../print_connected.ts";

const OPTIONS = [
  {
    flags: "--url <url>",
    help: "where GitLab reaches the daemon, such as https://hooks.example.com",
  },
  { flags: "--group <name>", help: "a group with all its projects, in place of one project" },
  {
    flags: "--token <source>",
    help: "the token: - for standard input, @FILE, or env for $GITLAB_TOKEN; otherwise svc asks " +
      "for it",
  },
  { flags: "--api <url>", help: "API of another server: https://HOST/api/v4" },
  { flags: "--name <name>", help: "name of the Connection (default: that of the project)" },
  {
    flags: "--endpoint <name>",
    help: "endpoint of your own triggers, instead of the package gitlab",
  },
  { flags: "--event <name...>", help: "events to send (default: those of the package)" },
  PROJECT,
  ...CONNECTION,
  OUTPUT_TEXT_JSON,
] as const satisfies readonly OptionDefinition[];

export const command: Command = defineCommand({
  help: "Connects a project or a group of GitLab in one step: checks the token, creates a secret " +
    "and the webhook, installs the package gitlab if no trigger takes its events yet, and has " +
    "GitLab test the webhook. It says what is wrong on the way (DNS, TLS, proxy, path, secret). " +
    "Running it again repairs only what was changed by hand. The daemon keeps the token and " +
    "recovers events that GitLab could not deliver. Exit 1 if the test does not arrive.\n\n" +
    "The token is a personal, project or group access token with the scope api, of a user with " +
    "the role Maintainer. A webhook of a group needs GitLab Premium and the role Owner; without, " +
    "each project of the group gets one.",
  arguments: [{ name: "[to]", help: "GROUP/PROJECT" }],
  options: OPTIONS,
  examples: [
    "svc connect gitlab brightwater/tidepool --url https://box.tail1234.ts.net",
    "svc connect gitlab --group brightwater --url https://hooks.example.com --token @token.txt",
    "svc connect gitlab ops/tools/app --api https://gitlab.example.com/api/v4 " +
    "--url https://hooks.example.com --token env -o json",
  ],
  async run(context) {
    const input = await toInput(context);
    const connected = await doConnectionWork("connect.gitlab", input, context);
    const next = "its events reach the triggers";
    return printConnected(connected, { next, agent: undefined }, context);
  },
});

async function toInput(context: Context<typeof OPTIONS>): Promise<Input<"connect.gitlab">> {
  const repository = context.argument(0);
  const { group, event, token: given } = context.options;
  if ((repository === "") === (group === undefined)) {
    throw new AppError("usage", "Name one GROUP/PROJECT, or one group with --group");
  }
  const url = urlOption("url", context.options.url);
  if (url === undefined) {
    throw new AppError("usage", "Give the address at which GitLab reaches the daemon with --url");
  }
  const options = connectOptions(context);
  const token = await readNewToken(
    { what: "token of GitLab", flag: "--token", given, variable: "GITLAB_TOKEN" },
    await findConnection(options.name ?? defaultConnectionName(group ?? repository), context),
    context.io,
  );
  return {
    ...group === undefined ? { repository } : { group },
    ...options,
    url,
    ...(event.length === 0 ? {} : { events: [...event] }),
    ...defined({ token }),
  };
}
