/**
 * `svc source bind`.
 *
 * @module
 */

import {
  type Command,
  CONNECTION,
  defineCommand,
  OUTPUT_TEXT_JSON,
  SOURCE_EVENT,
  TASK,
} from "../command.ts";

export const command: Command = defineCommand({
  help: "Binds the thread of an event to a task: later replies go to the inbox of that task " +
    "while it runs, and start a follow-up task after it. The event itself is routed again.",
  arguments: [
    { name: "<event>", help: `one in that thread: ${SOURCE_EVENT.help}`, complete: "source-event" },
    TASK,
  ],
  options: [...CONNECTION, OUTPUT_TEXT_JSON],
  examples: ["svc source bind latest latest"],
  async run(context) {
    using client = context.client();
    const [id, task] = [context.argument(0), context.argument(1)];
    const bound = await client.call("source.bind", { id, task });
    const again = bound.replayed ? ", the event is routed again" : "";
    context.io.out(
      context.options.output === "json"
        ? `${JSON.stringify(bound)}\n`
        : `thread ${bound.thread_id} bound to task/${bound.task_id}${again}\n`,
    );
  },
});
