/**
 * `svc trigger send`.
 *
 * @module
 */

import type { Sent } from "../../api/trigger_operations.ts";
import { toBase64, utf8 } from "../../base/bytes.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { isJsonObject } from "../../base/json.ts";
import {
  type Command,
  CONNECTION,
  defineCommand,
  OUTPUT_TEXT_JSON,
  PROJECT,
  TRIGGER,
} from "../command.ts";
import { curlLine, inlineData } from "../curl_line.ts";
import { EVENT, HEADER, hintAtHeaders, LIKELIEST_KEY, readHeaders } from "../headers.ts";
import type { Io } from "../io.ts";
import { jsonText } from "../json_text.ts";
import { readFile } from "../read_file.ts";
import { printable } from "../terminal_text.ts";

export const command: Command = defineCommand({
  help: "Signs a body as the sender of the trigger would, posts it to the daemon's webhook " +
    "address and prints the answer: a real delivery, with everything that follows. The daemon " +
    "signs, so the secret stays hidden; --url and --curl, which show a signature or the secret " +
    "itself, need the role admin. Exit 0 if a task was started or a handshake answered, else 1.",
  arguments: [TRIGGER],
  options: [
    { flags: "-f, --filename <file>", help: "body; - for standard input (default: {})" },
    EVENT,
    HEADER,
    { flags: "--key <name>", help: `key of the SecretStore (default: ${LIKELIEST_KEY})` },
    { flags: "--url <url>", help: "another address, such as the public one; the daemon posts" },
    { flags: "--curl", help: "print a curl line that sends it, and send nothing" },
    PROJECT,
    ...CONNECTION,
    OUTPUT_TEXT_JSON,
  ],
  examples: [
    "svc trigger send github-push -f push.json --event push",
    "svc trigger send line-message -f message.json",
    "svc trigger send github-push -f push.json --event push --curl",
  ],
  async run(context) {
    const { io } = context;
    const file = context.options.filename;
    const body = file === undefined ? utf8("{}") : await readFile(file, io);
    const { event, key, url } = context.options;
    const input = {
      name: context.argument(0),
      ...context.project(),
      body: toBase64(body),
      headers: readHeaders(context),
      ...defined({ event, key, url }),
    };
    using client = context.client();
    const json = context.options.output === "json";
    if (context.options.curl) {
      const signed = await client.call("trigger.sign", input);
      return io.out(
        json ? jsonText(signed) : curlLine(signed.url, signed.headers, data(body, file)),
      );
    }
    const sent = await client.call("trigger.send", input);
    const answer = readAnswer(sent);
    if (json) io.out(jsonText(sent));
    else printAnswer(sent, answer, io);
    return answer.started ? 0 : 1;
  },
});

function data(body: Uint8Array, file: string | undefined): readonly string[] {
  if (file !== undefined && file !== "-") return ["--data-binary", `@${file}`];
  const words = inlineData(body);
  if (words !== undefined) return words;
  throw new AppError("invalid", "The body does not fit into a command line, give it in a file");
}

/** The fields of the answer that the daemon writes. */
interface Answer {
  readonly started: boolean;
  /** Outcome of the event; empty if the answer does not say it. */
  readonly outcome: string;
  readonly text: string;
  readonly delivery: string | undefined;
}

function readAnswer({ status, answer }: Sent): Answer {
  const fields = fieldsOf(answer);
  const told = String(fields["status"] ?? "");
  const ids = Array.isArray(fields["task_ids"]) ? fields["task_ids"] : [fields["task_id"]];
  const tasks = ids.filter((id) => typeof id === "string" && id !== "").map((id) => `task/${id}`);
  const id = fields["delivery_id"] ?? fields["request_id"];
  const reason = fields["reason"] === undefined ? "" : ` (${fields["reason"]})`;
  const known = ["accepted", "duplicate", "skipped", "filtered"].includes(told);
  return {
    outcome: told,
    started: status >= 200 && status < 300 && (told === "accepted" || !known),
    text: known
      ? `${told}${tasks.length === 0 ? "" : `: ${tasks.join(" ")}`}${reason}`
      : String(fields["title"] ?? answer),
    delivery: typeof id === "string" ? id : undefined,
  };
}

function fieldsOf(answer: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(answer);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}

function nextStep(outcome: string, delivery: string): string {
  return outcome === "duplicate"
    ? "change the body; what was sent before and started a task counts once"
    : `svc delivery explain ${delivery}`;
}

function printAnswer(sent: Sent, { started, outcome, text, delivery }: Answer, io: Io): void {
  const { url, key, status, missing_headers: missing } = sent;
  const signed = key === null ? "unsigned" : `signed with key "${key}"`;
  io.out(`POST ${printable(url)}, ${printable(signed)}\n`);
  io.out(`${status} ${printable(text)}`.trimEnd() + "\n");
  if (started || delivery === undefined) return;
  io.out(`next: ${nextStep(outcome, printable(delivery))}\n`);
  if (outcome === "filtered") hintAtHeaders(missing, io);
}
