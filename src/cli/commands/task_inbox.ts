/**
 * `svc task inbox`.
 *
 * @module
 */

import type { InboxEntry } from "../../api/task_operations.ts";
import { findText } from "../../base/bytes.ts";
import { AppError } from "../../base/errors.ts";
import { type Command, CONNECTION, defineCommand, TASK } from "../command.ts";
import type { Io } from "../io.ts";
import { printValue } from "../print.ts";
import { formatTable } from "../table.ts";
import { readInput } from "../read_file.ts";

const FORMATS = ["table", "lines", "json", "yaml"];

export const command: Command = defineCommand({
  help: "Prints the messages to a task, oldest first, or sends one to a task that has not ended. " +
    "Its steps read them from the file $SVC_INBOX, one JSON object per line.",
  arguments: [TASK],
  options: [
    { flags: "--send <text>", help: "send this text; - for standard input" },
    ...CONNECTION,
    {
      flags: "-o, --output <format>",
      help:
        "how to print; lines is one JSON object per line (default: table on a terminal, else lines)",
      choices: FORMATS,
    },
  ],
  examples: [
    "svc task inbox latest",
    'svc task inbox latest --send "leave the tests alone"',
    "svc task inbox latest --send - < notes.txt",
  ],
  async run(context) {
    const { io } = context;
    const id = context.argument(0);
    const format = context.options.output ?? (io.outIsTerminal ? "table" : "lines");
    const text = context.options.send;
    using client = context.client();
    if (text !== undefined) {
      const sent = await client.call("task.inbox.send", { id, text: await textOf(text, io) });
      if (format === "json") return await printValue(sent, "json", io);
      return io.out(`sent to task/${sent.id}\n`);
    }
    const { messages } = await client.call("task.inbox", { id });
    if (format === "json" || format === "yaml") {
      return await printValue(messages.map(({ message }) => message), format, io);
    }
    if (format === "lines") {
      return io.out(messages.map(({ message }) => `${JSON.stringify(message)}\n`).join(""));
    }
    if (messages.length === 0) return io.err("No messages\n");
    io.out(await formatTable(COLUMNS, messages.map(toCells), io.columns));
  },
});

const COLUMNS = [
  { header: "AT", wide: false },
  { header: "FROM", wide: false, fit: "name" },
  { header: "TEXT", wide: false, fit: "text" },
] as const;

async function textOf(option: string, io: Io): Promise<string> {
  const text = option === "-" ? findText(await readInput(io)) : option;
  if (text === undefined) throw new AppError("usage", "Standard input is not UTF-8 text");
  if (text.trim() === "") throw new AppError("usage", "The message is empty");
  return text;
}

function toCells({ created_at: createdAt, message }: InboxEntry): string[] {
  const { text, from, actor, trigger } = message;
  // An operator, who wrote in a thread, or the trigger of a conversation.
  const sender = [from, actor, trigger].find((one) => typeof one === "string" && one !== "");
  return [
    createdAt,
    typeof sender === "string" ? sender : "",
    typeof text === "string" ? text : JSON.stringify(message),
  ];
}
