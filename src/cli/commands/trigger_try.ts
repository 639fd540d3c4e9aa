/**
 * `svc trigger test`; the file is not called `trigger_test.ts` because that names a test.
 *
 * @module
 */

import type { Input } from "../../api/operations.ts";
import { toBase64, utf8 } from "../../base/bytes.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import {
  type Command,
  CONNECTION,
  type Context,
  defineCommand,
  OUTPUT_TEXT_JSON,
  PROJECT,
  TRIGGER,
} from "../command.ts";
import type { OptionDefinition } from "../option.ts";
import { EVENT, HEADER, LIKELIEST_KEY, readHeaders } from "../headers.ts";
import { jsonText } from "../json_text.ts";
import { readFile } from "../read_file.ts";
import { printable } from "../terminal_text.ts";

const OPTIONS = [
  { flags: "-f, --filename <file>", help: "body of the request; - for standard input" },
  {
    flags: "--delivery <delivery>",
    help: "id of a stored delivery to take instead",
    complete: "delivery",
  },
  { flags: "--filter <condition>", help: "CEL condition to use instead of the trigger's own" },
  HEADER,
  EVENT,
  { flags: "--sign", help: "sign it as the sender of the trigger would" },
  {
    flags: "--platform <name>",
    help: "sign it as this platform would, with the headers it sends (body: {} without -f)",
  },
  { flags: "--key <name>", help: `key of the SecretStore (default: ${LIKELIEST_KEY})` },
  PROJECT,
  ...CONNECTION,
  OUTPUT_TEXT_JSON,
] as const satisfies readonly OptionDefinition[];

export const command: Command = defineCommand({
  help: "Runs a request through the real pipeline of a trigger, plugins included, and prints " +
    "the result of every stage. Stores and starts nothing. The request is your own body, " +
    "signed with --sign; one that a platform would send; or a stored delivery, at the time it " +
    "arrived, authenticated if it was then. Exit 0 if it would start a task, else 1.",
  arguments: [TRIGGER],
  options: OPTIONS,
  examples: [
    "svc trigger test github-push -f payload.json --sign --event push",
    "svc trigger test github-push --delivery latest",
    `svc trigger test github-push --delivery latest --filter 'payload.ref == "refs/heads/main"'`,
    "svc trigger test github-push --platform github --event push",
    'svc trigger test hook -f - --header "X-Webhook-Signature: sha256=…" < body.json',
  ],
  async run(context) {
    const request = await readRequest(context);
    using client = context.client();
    const name = context.argument(0);
    const filter = context.options.filter;
    const input = {
      name,
      ...context.project(),
      ...request,
      ...defined({ filter }),
    };
    const tried = await client.call("trigger.test", input);
    const { would, stages } = tried;
    if (context.options.output === "json") {
      context.io.out(jsonText(tried));
    } else {
      for (const { stage, result } of stages) {
        context.io.out(`${`${stage}:`.padEnd(14)}${printable(result)}\n`);
      }
      context.io.out(`would be:     ${would}\n`);
    }
    return would === "accepted" || would === "handshake" ? 0 : 1;
  },
});

/** The stored request, or the one to make up. */
async function readRequest(
  context: Context<typeof OPTIONS>,
): Promise<Omit<Input<"trigger.test">, "name">> {
  const { filename: file, delivery, platform, event, key, sign } = context.options;
  const headers = readHeaders(context);
  if (delivery !== undefined) {
    const made = [file, platform, event, key].some((one) => one !== undefined);
    if (!made && !sign && Object.keys(headers).length === 0) return { delivery };
    const message = "--delivery takes the stored request: leave out options that describe " +
      "another one";
    throw new AppError("usage", message);
  }
  if (file === undefined && platform === undefined) {
    throw new AppError(
      "usage",
      "Give the request: -f FILE, --delivery DELIVERY or --platform NAME",
    );
  }
  const isSigned = sign || platform !== undefined;
  if (!isSigned && (event !== undefined || key !== undefined)) {
    throw new AppError("usage", "--event and --key are for a request that svc signs: add --sign");
  }
  return {
    body: toBase64(file === undefined ? utf8("{}") : await readFile(file, context.io)),
    headers,
    sign,
    ...defined({ platform, event, key }),
  };
}
