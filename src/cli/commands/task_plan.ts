/**
 * `svc task plan`.
 *
 * @module
 */

import type { PlannedStepView } from "../../api/task_operations.ts";
import { shortDuration } from "../../base/duration.ts";
import { type Command, CONNECTION, defineCommand, OUTPUT_TEXT_JSON, TASK } from "../command.ts";
import { jsonText } from "../json_text.ts";
import { formatTable } from "../table.ts";
import { printable } from "../terminal_text.ts";

export const command: Command = defineCommand({
  help: "Prints the steps that a task runs, and what each waits for. They were copied when the " +
    "task was created; later applies do not change them. Steps under finally come last. A " +
    "timeout that no manifest sets is the daemon's current setting. svc describe task shows " +
    "how far they are.",
  arguments: [TASK],
  options: [...CONNECTION, OUTPUT_TEXT_JSON],
  examples: ["svc task plan latest", "svc task plan latest -o json"],
  async run(context) {
    const { io } = context;
    using client = context.client();
    const plan = await client.call("task.plan", { id: context.argument(0) });
    if (context.options.output === "json") return io.out(jsonText(plan));
    if (!plan.planned) {
      io.err(
        `Task ${plan.id} never got a plan, something it needs was missing: ` +
          `svc describe task/${plan.id} says what\n`,
      );
      return;
    }
    io.out(await formatTable(COLUMNS, plan.steps.map(toCells), io.columns));
    io.out(`\nThe whole task: ${limitText(plan, "workflow") || "no timeout"}\n`);
    if (plan.reason !== "") io.err(`Task ${plan.id}: ${printable(plan.reason)}\n`);
  },
});

const COLUMNS = [
  { header: "STEP", wide: false, fit: "name" },
  { header: "RUNS", wide: false, fit: "name" },
  { header: "AFTER", wide: false, fit: "text" },
  { header: "TIMEOUT", wide: false },
  { header: "ATTEMPTS", wide: false },
  { header: "SANDBOX", wide: false, fit: "text" },
  { header: "WHEN", wide: false, fit: "text" },
] as const;

/** A time limit, and the setting from which it comes unless that is `own`. */
function limitText(
  { timeout_secs: secs, timeout_from: from }: Pick<PlannedStepView, "timeout_secs"> & {
    readonly timeout_from: string | null;
  },
  own: string,
): string {
  if (secs === null) return "";
  return `${shortDuration(secs * 1000)}${from === null || from === own ? "" : ` (${from})`}`;
}

/** `agents`, `none`, or what a sandbox without a name reaches. */
function sandboxText(sandbox: PlannedStepView["sandbox"]): string {
  if (sandbox === null || sandbox === "none") return sandbox ?? "";
  return sandbox.name ?? `network ${sandbox.network}${sandbox.default ? " (default)" : ""}`;
}

function toCells(step: PlannedStepView): string[] {
  return [
    step.id,
    (step.agent === null ? "shell" : `agent ${step.agent}`) + (step.finally ? ", finally" : ""),
    step.needs.join(", "),
    limitText(step, "step"),
    String(step.attempts),
    sandboxText(step.sandbox),
    step.when ?? "",
  ];
}
