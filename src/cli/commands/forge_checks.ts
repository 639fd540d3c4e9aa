/**
 * `svc github checks`, `svc gitlab checks`.
 *
 * @module
 */

import { atForges, type ForgeCommands } from "../at_forges.ts";
import type { CommitChecks } from "../../api/may_operations.ts";
import { AppError } from "../../base/errors.ts";
import { CONNECTION, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import { jsonText } from "../json_text.ts";
import { OWN_TASK, taskOf } from "../own_task.ts";
import { formatTable } from "../table.ts";
import { printable } from "../terminal_text.ts";

export const commands: ForgeCommands = atForges((forge, { title }) =>
  defineCommand({
    help: `Shows how a commit stands at ${title} by its checks. Its state is red if one of them ` +
      "has failed, pending if one has not ended, none if there is none yet, and green otherwise. " +
      `The workflow has to allow it with may.${forge}.checks: read. What the task itself has set ` +
      "there does not count. Inside a step, the task defaults to its own.",
    arguments: [OWN_TASK],
    options: [
      { flags: "--commit <rev>", help: "whole id of a commit in the repository of the task" },
      ...CONNECTION,
      OUTPUT_TEXT_JSON,
    ],
    examples: [
      `svc ${forge} checks --commit 9be7a2d05c41f386e31f6c8a47d24f0c61d2b97a`,
      `svc ${forge} checks latest --commit 9be7a2d05c41f386e31f6c8a47d24f0c61d2b97a -o json`,
    ],
    async run(context) {
      const { io } = context;
      const task = taskOf(context);
      const { commit = "" } = context.options;
      if (commit === "") throw new AppError("usage", "Give the whole id of a commit: --commit SHA");
      using client = context.client();
      const checks = await client.call(`${forge}.checks`, { task, commit });
      if (context.options.output === "json") return io.out(jsonText(checks));
      io.out(`${summaryOf(checks)}\n`);
      if (checks.checks.length === 0) return;
      const rows = checks.checks.map((check) => COLUMNS.map(({ cell }) => cell(check)));
      io.out(`\n${await formatTable(COLUMNS, rows, io.columns)}`);
      const failed = checks.checks.flatMap(({ name, state, url }) =>
        state === "red" && url !== null ? [`${printable(name)}: ${printable(url)}\n`] : []
      );
      if (failed.length > 0) io.out(`\nFailed:\n${failed.join("")}`);
    },
  })
);

/** `acme/site 9be7a2d05c: red (1 red, 2 pending, 3 green)`. */
function summaryOf({ repository, commit, state, counts }: CommitChecks): string {
  const numbers = (["red", "pending", "green"] as const)
    .flatMap((one) => counts[one] === 0 ? [] : [`${counts[one]} ${one}`]).join(", ");
  return `${printable(repository)} ${commit.slice(0, 10)}: ${state}` +
    (numbers === "" ? "" : ` (${numbers})`);
}

/** A column of the table, and what it shows of a check. */
type CheckColumn = Parameters<typeof formatTable>[0][number] & {
  readonly cell: (check: CommitChecks["checks"][number]) => string;
};

const COLUMNS: readonly CheckColumn[] = [
  { header: "STATE", wide: false, cell: ({ state }) => state },
  { header: "SAID", wide: false, cell: ({ said }) => said },
  { header: "NAME", wide: false, fit: "text", cell: ({ name }) => name },
];
