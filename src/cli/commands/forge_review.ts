/**
 * `svc github review`, `svc gitlab review`.
 *
 * @module
 */

import { REVIEW_EVENTS } from "../../base/forge_names.ts";
import { atForges, type ForgeCommands } from "../at_forges.ts";
import { findText } from "../../base/bytes.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import type { Input } from "../../api/operations.ts";
import { BODY, bodyText } from "../body_option.ts";
import { CONNECTION, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import type { Io } from "../io.ts";
import { OWN_TASK, taskOf } from "../own_task.ts";
import { inputName, readFile } from "../read_file.ts";
import { reportMessage, WAIT } from "../wait_for_message.ts";

export const commands: ForgeCommands = atForges((forge, { pull }) =>
  defineCommand({
    help: `Reviews the ${pull} that a task is about. A later review with the same key renews ` +
      "the text while the commit is the same, and is a new one for another commit. The comments are " +
      "a JSON list of {path, line, side, start_line, body}; side and start_line may be left out. " +
      "A comment on a line that the diff does not show goes to the end of the text. The workflow " +
      `allows the event, and so many comments, in may.${forge}.review. Inside a step, the task ` +
      "defaults to its own.",
    arguments: [OWN_TASK],
    options: [
      BODY,
      { flags: "--comments <file>", help: "JSON list of comments on lines; - for standard input" },
      {
        flags: "--event <event>",
        help: "what the review says",
        choices: REVIEW_EVENTS[forge],
        fallback: "comment",
      },
      { flags: "--key <key>", help: "name of the review (default: the name of the trigger)" },
      WAIT,
      ...CONNECTION,
      OUTPUT_TEXT_JSON,
    ],
    examples: [
      `svc ${forge} review --body "Two findings" --comments findings.json`,
      `./review.sh | svc ${forge} review latest --body - --event ${REVIEW_EVENTS[forge][1]} --wait`,
    ],
    async run(context) {
      const task = taskOf(context);
      const { key, comments: file } = context.options;
      const event = REVIEW_EVENTS[forge].find((known) => known === context.options.event) ??
        "comment";
      const body = await bodyText(context);
      if (body === undefined && file === undefined) {
        throw new AppError("usage", "Give the text: --body TEXT, or comments: --comments FILE");
      }
      const comments = file === undefined ? [] : await readComments(file, context.io);
      const input = { task, body: body ?? "", event, comments, ...defined({ key }) };
      return await reportMessage(context, {
        queue: (client) => client.call(`${forge}.review`, input),
        sent: ({ reference }) => `reviewed ${reference}`,
        idField: "review_id",
      });
    },
  })
);

type Comments = NonNullable<Input<"github.review">["comments"]>;

/** The list in a file; the daemon checks what is in it. */
async function readComments(file: string, io: Io): Promise<Comments> {
  const text = findText(await readFile(file, io));
  try {
    const list: unknown = JSON.parse(text ?? "");
    if (Array.isArray(list)) return list;
  } catch {
    // said below
  }
  const form = '[{"path": "src/a.ts", "line": 3, "body": "…"}]';
  throw new AppError("invalid", `${inputName(file)} is not a JSON list of comments: ${form}`);
}
