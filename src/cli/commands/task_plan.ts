/**
 * `svc task plan`.
 *
 * @module
 */

import { agentNames } from "../../api/agent_words.ts";
import { sandboxName } from "../../api/sandbox_words.ts";
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
    const columns = COLUMNS.filter(({ header, cell }) =>
      !WHERE_SAID.has(header) || plan.steps.some((step) => cell(step) !== "")
    );
    const rows = plan.steps.map((step) => columns.map(({ cell }) => cell(step)));
    io.out(await formatTable(columns, rows, io.columns));
    io.out(`\nThe whole task: ${limitText(plan, "workflow") || "no timeout"}\n`);
    if (plan.reason !== "") io.err(`Task ${plan.id}: ${printable(plan.reason)}\n`);
  },
});

/** A column of the table, and what it shows of a step. */
type PlanColumn = Parameters<typeof formatTable>[0][number] & {
  readonly cell: (step: PlannedStepView) => string;
};

const COLUMNS: readonly PlanColumn[] = [
  {
    header: "STEP",
    wide: false,
    fit: "name",
    cell: ({ id, within }) => within === undefined ? id : `  ${id}`,
  },
  { header: "RUNS", wide: false, fit: "name", cell: runsText },
  { header: "AFTER", wide: false, fit: "text", cell: ({ needs }) => needs.join(", ") },
  { header: "TIMEOUT", wide: false, cell: (step) => limitText(step, "step") },
  { header: "ATTEMPTS", wide: false, cell: ({ attempts }) => String(attempts) },
  { header: "MAY", wide: false, fit: "text", cell: mayText },
  { header: "SANDBOX", wide: false, cell: ({ sandbox }) => sandboxName(sandbox) },
  { header: "WHEN", wide: false, fit: "text", cell: whenText },
];

/** Columns that are left out where no step has anything to say there. */
const WHERE_SAID: ReadonlySet<string> = new Set(["MAY", "SANDBOX"]);

/** The condition of a step, and what ends a `repeat`. */
function whenText({ when, repeat }: PlannedStepView): string {
  const ends = repeat === undefined ? [] : [`until ${repeat.until}`];
  return [...when === null ? [] : [when], ...ends].join(", ");
}

/** What a step may do, where that is less than its workflow. */
function mayText({ may }: PlannedStepView): string {
  return may === null ? "" : may.length === 0 ? "nothing" : may.join(", ");
}

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

function runsText(
  { kind, agent, fallbacks, finally: isLast, wait_for: wait, repeat, workflow }: PlannedStepView,
): string {
  if (repeat !== undefined) return `rounds, ${repeat.max} at most`;
  if (kind === "approval") return "asks people";
  if (workflow !== undefined) return `workflow ${workflow}`;
  if (wait !== undefined) return `waits ${(wait.any ?? [wait]).map(waitText).join(" or ")}`;
  const runs = agent === null ? "shell" : `agent ${agentNames({ agent, fallbacks })}`;
  return runs + (isLast ? ", finally" : "");
}

/** One of the things that a step waits for, as the end of a sentence. */
function waitText(
  { for: time, until, trigger }: NonNullable<
    NonNullable<PlannedStepView["wait_for"]>["any"]
  >[number],
): string {
  if (time !== undefined) return typeof time === "number" ? `${time}s` : time;
  if (until !== undefined) return `until ${until}`;
  return trigger === undefined ? "for a message" : `for an event of ${trigger}`;
}
