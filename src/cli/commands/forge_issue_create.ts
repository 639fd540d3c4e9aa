/**
 * `svc github issue create`, `svc gitlab issue create`.
 *
 * @module
 */

import { atForges, type ForgeCommands } from "../at_forges.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { MAX_TITLE } from "../../base/forge_names.ts";
import { BODY, bodyText } from "../body_option.ts";
import { CONNECTION, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import { OWN_TASK, taskOf } from "../own_task.ts";
import { reportMessage, WAIT } from "../wait_for_message.ts";

export const commands: ForgeCommands = atForges((forge) =>
  defineCommand({
    help:
      "Files an issue in the repository that a task is about, or in the one that its workflow names " +
      `in may.${forge}.issue. A later one with the same key renews it while it is open. Prefix, ` +
      `labels and limits are those of may.${forge}.issue. The body is Markdown; mentions, remote ` +
      "content and bot commands in it have no effect. Inside a step, the task defaults to its own.",
    arguments: [OWN_TASK],
    options: [
      { flags: "--title <text>", help: `one line, cut at ${MAX_TITLE[forge]} characters` },
      BODY,
      { flags: "--key <key>", help: "name of the issue (default: each is a new one)" },
      { flags: "--label <label...>", help: "label that the repository has" },
      WAIT,
      ...CONNECTION,
      OUTPUT_TEXT_JSON,
    ],
    examples: [
      `svc ${forge} issue create --title "Flaky: login" --body "Failed **twice**" --key flaky-login`,
      `./triage.sh | svc ${forge} issue create latest --title Triage --body - --label bug --wait`,
    ],
    async run(context) {
      const task = taskOf(context);
      const { title, key, label } = context.options;
      if (title === undefined) throw new AppError("usage", "Give the title: --title TEXT");
      const body = await bodyText(context);
      if (body === undefined) {
        throw new AppError("usage", "Give the text: --body TEXT, --body - or --body @FILE");
      }
      const input = { task, title, body, labels: label, ...defined({ key }) };
      return await reportMessage(context, {
        queue: (client) => client.call(`${forge}.issue_create`, input),
        sent: ({ repository, title }) => `filed "${title}" in ${repository}`,
        idField: "number",
      });
    },
  })
);
