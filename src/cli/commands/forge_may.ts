/**
 * `svc github may`, `svc gitlab may`.
 *
 * @module
 */

import { atForges, type ForgeCommands } from "../at_forges.ts";
import type { OutputLeft, TaskMay } from "../../api/may_operations.ts";
import { CONNECTION, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import { jsonText } from "../json_text.ts";
import { OWN_TASK, taskOf } from "../own_task.ts";
import { formatTable } from "../table.ts";
import { printable } from "../terminal_text.ts";

export const commands: ForgeCommands = atForges((forge, { title }) =>
  defineCommand({
    help:
      `Shows what a task may do at ${title}, and what is left of each limit. It was copied from ` +
      "the workflow when the task was created; later applies do not change it. Inside a step, " +
      "the task defaults to its own, and what the step itself may not do is named with the rule.",
    arguments: [OWN_TASK],
    options: [...CONNECTION, OUTPUT_TEXT_JSON],
    examples: [`svc ${forge} may`, `svc ${forge} may latest -o json`],
    async run(context) {
      const { io } = context;
      const task = taskOf(context);
      using client = context.client();
      const may = await client.call(`${forge}.may`, { task });
      if (context.options.output === "json") return io.out(jsonText(may));
      io.out(summaryOf(may));
      if (may.outputs.length > 0) {
        const rows = may.outputs.map((output) => COLUMNS.map(({ cell }) => cell(output)));
        io.out(`\n${await formatTable(COLUMNS, rows, io.columns)}`);
      }
      if (may.refused.length > 0) {
        const lines = may.refused.map(({ output, why }) => `${output}: ${printable(why)}\n`);
        io.out(`\nNot allowed:\n${lines.join("")}`);
      }
    },
  })
);

/** Where it goes, and from which commit; a line each. */
function summaryOf({ task_id: id, workflow, step, declared, ...may }: TaskMay): string {
  const by = step === null ? "" : `, step ${step}`;
  const facts = [
    ["task", `${id} (${workflow}${by})`],
    ["may", declared ? "declared by the workflow" : "not declared, so the outputs of old"],
    ["connection", may.connection ?? "none"],
    ["repository", may.repository ?? "none"],
    ["starts at", may.start ?? "not known to svc"],
  ] as const;
  return facts.map(([name, value]) => `${`${name}:`.padEnd(12)}${printable(value)}\n`).join("");
}

/** A column of the table, and what it shows of an output. */
type MayColumn = Parameters<typeof formatTable>[0][number] & {
  readonly cell: (output: OutputLeft) => string;
};

const COLUMNS: readonly MayColumn[] = [
  { header: "OUTPUT", wide: false, cell: ({ output }) => output },
  { header: "LEFT", wide: false, cell: ({ left }) => left === null ? "any" : String(left) },
  { header: "MAX", wide: false, cell: ({ max }) => max === null ? "any" : String(max) },
  { header: "HOLD", wide: false, cell: ({ hold }) => hold },
  { header: "USED", wide: false, fit: "text", cell: ({ used }) => used.join(", ") },
];
