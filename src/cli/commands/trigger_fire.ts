/**
 * `svc trigger fire`.
 *
 * @module
 */

import { findText } from "../../base/bytes.ts";
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
import { HEADER, hintAtHeaders, readHeaders } from "../headers.ts";
import { jsonText } from "../json_text.ts";
import { inputName, readFile } from "../read_file.ts";
import { printable } from "../terminal_text.ts";

const OPTIONS = [
  {
    flags: "-f, --filename <file>",
    help: "payload, one JSON object; - for standard input (default: {})",
  },
  HEADER,
  PROJECT,
  ...CONNECTION,
  OUTPUT_TEXT_JSON,
] as const satisfies readonly OptionDefinition[];

export const command: Command = defineCommand({
  help: "Fires a trigger of any source as if its event had arrived, without authentication: " +
    "filter, suspension and concurrency apply as to any event. A condition that reads headers " +
    "sees those of --header. Exit 0 when a task was started, else 1.",
  arguments: [TRIGGER],
  options: OPTIONS,
  examples: [
    "svc trigger fire nightly",
    'svc trigger fire github-push -f payload.json --header "X-GitHub-Event: push"',
    "svc task wait $(svc trigger fire nightly -o json | jq -r .task_id)",
  ],
  async run(context) {
    const { io } = context;
    const payload = await readPayload(context);
    using client = context.client();
    const name = context.argument(0);
    const fired = await client.call("trigger.fire", {
      name,
      ...context.project(),
      payload,
      headers: readHeaders(context),
    });
    const started = fired.task_id !== null;
    if (context.options.output === "json") {
      io.out(jsonText(fired));
    } else {
      const reason = fired.reason === "" ? "" : ` (${printable(fired.reason)})`;
      const what = started ? `task/${fired.task_id}` : `delivery/${fired.delivery_id}`;
      io.out(`${fired.outcome}: ${what}${reason}\n`);
      hintAtHeaders(fired.missing_headers, io);
    }
    return started ? 0 : 1;
  },
});

async function readPayload(context: Context<typeof OPTIONS>): Promise<string> {
  const file = context.options.filename;
  if (file === undefined) return "{}";
  const text = findText(await readFile(file, context.io));
  if (text === undefined) throw new AppError("invalid", `"${inputName(file)}" is not UTF-8`);
  return text;
}
