/**
 * `svc github check`.
 *
 * @module
 */

import type { Input } from "../../api/operations.ts";
import { findText } from "../../base/bytes.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { CHECK_CONCLUSIONS, CHECK_STATUSES } from "../../base/github_names.ts";
import { parseJson } from "../../base/json.ts";
import { type Command, CONNECTION, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import { OWN_TASK, taskOf } from "../own_task.ts";
import { readFile } from "../read_file.ts";
import { reportMessage, WAIT } from "../wait_for_message.ts";

export const command: Command = defineCommand({
  help: "Sets a check run on the commit that a task is about, with annotations on lines: of a " +
    "GitHub App only, and within may.github.check of the workflow. The next one of the same name " +
    "updates it. The file of annotations is a list in JSON: {path, start_line, end_line?, " +
    "level: notice, warning or failure, message, title?}.",
  arguments: [OWN_TASK],
  options: [
    { flags: "--name <name>", help: "name of the check, such as svc/review" },
    {
      flags: "--status <status>",
      help: "queued, in_progress or completed (default: in_progress)",
      choices: CHECK_STATUSES,
    },
    {
      flags: "--conclusion <conclusion>",
      help: "how it ended, which completes it",
      choices: CHECK_CONCLUSIONS,
    },
    { flags: "--title <text>", help: "title of its page (default: the name)" },
    { flags: "--summary <text>", help: "Markdown of its page" },
    { flags: "--annotations <file>", help: "annotations in JSON; - for standard input" },
    WAIT,
    ...CONNECTION,
    OUTPUT_TEXT_JSON,
  ],
  examples: [
    "svc github check --name svc/review --status in_progress",
    "svc github check --name svc/review --conclusion neutral --annotations findings.json",
  ],
  async run(context) {
    const task = taskOf(context);
    const { options, io } = context;
    const { name = "", title, summary } = options;
    if (name === "") throw new AppError("usage", "Give the name of the check: --name NAME");
    const conclusion = CHECK_CONCLUSIONS.find((known) => known === options.conclusion);
    const given = CHECK_STATUSES.find((known) => known === options.status);
    const status = conclusion === undefined ? given ?? "in_progress" : "completed";
    if (status === "completed" && conclusion === undefined) {
      const message = `A check that is completed needs --conclusion: ${
        CHECK_CONCLUSIONS.join(", ")
      }`;
      throw new AppError("usage", message);
    }
    const annotations = options.annotations === undefined
      ? undefined
      : parseAnnotations(findText(await readFile(options.annotations, io)));
    const input = {
      task,
      name,
      status,
      ...defined({ conclusion, title, summary, annotations }),
    };
    return await reportMessage(context, {
      queue: (client) => client.call("github.check", input),
      sent: ({ repository }) => `${name} is ${conclusion ?? status} in ${repository}`,
      idField: "check",
    });
  },
});

/** The annotations of a file; the daemon checks each of them. */
function parseAnnotations(
  text: string | undefined,
): NonNullable<Input<"github.check">["annotations"]> {
  try {
    const value: unknown = parseJson(text ?? "");
    if (Array.isArray(value)) return value;
  } catch {
    // said below
  }
  throw new AppError("invalid", "The annotations are no list in JSON: [{path, start_line, …}]");
}
