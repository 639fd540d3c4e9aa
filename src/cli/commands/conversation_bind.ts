/**
 * `svc conversation bind`.
 *
 * @module
 */

import { type Command, CONNECTION, defineCommand, OUTPUT_TEXT_JSON, TASK } from "../command.ts";

export const command: Command = defineCommand({
  help:
    "Lets a conversation go on with a task that has not ended: the next events of that key go to " +
    "its inbox, and to a follow-up when it has ended. A task that had the conversation before keeps " +
    "the messages that it has.",
  arguments: [
    { name: "<name>", help: "conversation.name of the triggers, or else their endpoint" },
    { name: "<key>", help: "what conversation.key is for those events" },
    TASK,
  ],
  options: [...CONNECTION, OUTPUT_TEXT_JSON],
  examples: ["svc conversation bind comments acme/site#7 latest"],
  async run(context) {
    using client = context.client();
    const [name, key, task] = [context.argument(0), context.argument(1), context.argument(2)];
    const bound = await client.call("conversation.bind", { name, key, task });
    const moved = bound.before === null || bound.before === bound.task_id
      ? ""
      : `, before that to task/${bound.before}`;
    context.io.out(
      context.options.output === "json"
        ? `${JSON.stringify(bound)}\n`
        : `conversation ${bound.name}/${bound.key} bound to task/${bound.task_id}${moved}\n`,
    );
  },
});
