/**
 * `svc trigger test`; the file is not called `trigger_test.ts` because that names a test.
 *
 * @module
 */

import { toBase64 } from "../../base/bytes.ts";
import { AppError } from "../../base/errors.ts";
import {
  type Command,
  type CommandContext,
  CONNECTION,
  OUTPUT_TEXT_JSON,
  PROJECT,
} from "../command.ts";
import { readFile } from "../read_file.ts";
import { printable } from "../terminal_text.ts";

/** Tries a request. */
export const command: Command = {
  help: "Runs a request through the real pipeline of a trigger, stores and starts nothing, and " +
    "prints the result of every stage. Exit 0 when it would start a task, else 1.",
  arguments: [{ name: "<trigger>", help: "name of the trigger" }],
  options: [
    { flags: "-f, --filename <file>", help: "body of the request; - for standard input" },
    { flags: "--header <header...>", help: 'a header, "Name: value"' },
    {
      flags: "--sign",
      help: "sign it as the platform would, with the first key of the SecretStore",
    },
    PROJECT,
    ...CONNECTION,
    OUTPUT_TEXT_JSON,
  ],
  examples: [
    "svc trigger test github-push -f payload.json --sign",
    'svc trigger test hook -f - --header "X-Webhook-Signature: sha256=…" < body.json',
  ],
  async run(context: CommandContext) {
    const file = context.option("filename");
    if (file === undefined) throw new AppError("usage", "Give the body: -f FILE");
    const body = await readFile(file, context.io);
    using client = context.client();
    const { would, stages } = await client.call("trigger.test", {
      name: context.argument(0),
      ...context.project(),
      body: toBase64(body),
      headers: Object.fromEntries(context.list("header").map(parseHeader)),
      sign: context.flag("sign"),
    });
    if (context.option("output") === "json") {
      context.io.out(`${JSON.stringify({ would, stages }, null, 2)}\n`);
    } else {
      for (const { stage, result } of stages) {
        context.io.out(`${`${stage}:`.padEnd(14)}${printable(result)}\n`);
      }
      context.io.out(`would be:     ${would}\n`);
    }
    return would === "accepted" || would === "handshake" ? 0 : 1;
  },
};

function parseHeader(text: string): [string, string] {
  const at = text.indexOf(":");
  if (at > 0) return [text.slice(0, at).trim(), text.slice(at + 1).trim()];
  throw new AppError("usage", `--header takes "Name: value", not "${text}"`);
}
