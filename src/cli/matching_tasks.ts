/**
 * Shared by commands on all tasks that match filters: the options, the question before the work,
 * and the result of each task as it comes.
 *
 * @module
 */

import type { Input } from "../api/operations.ts";
import type { MatchingLine } from "../api/task_operations.ts";
import { defined } from "../base/defined.ts";
import { AppError } from "../base/errors.ts";
import { type Context, PROJECT } from "./command.ts";
import { DURATION, type OptionWith } from "./option.ts";
import { confirm, YES } from "./confirm.ts";

/** The filters that select the tasks. */
export type Matching = Omit<Input<"task.retry.matching">, "dry_run">;

/** The result of one task. */
export type MatchingResult = Exclude<MatchingLine, { readonly total: number }>;

/** The options that name tasks by filters, and the two ways not to be asked. */
type MatchingOptions = readonly [
  OptionWith<"--trigger <name>">,
  OptionWith<"--workflow <name>">,
  OptionWith<"--state <state>">,
  OptionWith<"--since <duration>"> & { readonly value: typeof DURATION },
  typeof PROJECT,
  typeof YES,
  OptionWith<"--dry-run">,
];

/** These options, for tasks in one of these states. */
export const matchingOptions = (states: readonly string[]): MatchingOptions => [
  { flags: "--trigger <name>", help: "all tasks of this trigger", complete: "trigger" },
  { flags: "--workflow <name>", help: "all tasks of this workflow", complete: "workflow" },
  { flags: "--state <state>", help: `all that are ${states.join(" or ")}`, complete: states },
  { flags: "--since <duration>", value: DURATION, help: "all tasks of the last 1h, 7d, …" },
  PROJECT,
  YES,
  { flags: "--dry-run", help: "print which tasks these are, but change nothing" },
];

type MatchingContext = Context<MatchingOptions>;

/**
 * The filters of a command line; `undefined` where it names tasks instead.
 *
 * @throws {AppError} `usage` for both, and for neither.
 */
export function findMatching(named: boolean, context: MatchingContext): Matching | undefined {
  const texts = (["trigger", "workflow", "state"] as const).flatMap((name) => {
    const value = context.options[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  const since = context.options.since;
  const some = texts.length > 0 || since !== undefined;
  if (named && !some && context.options.dryRun) {
    throw new AppError(
      "usage",
      "--dry-run tells which tasks match: give filters such as --trigger",
    );
  }
  if (named && !some) return undefined;
  if (named) throw new AppError("usage", "Name tasks, or give filters such as --trigger, not both");
  if (!some) {
    throw new AppError(
      "usage",
      "TASK is missing: name tasks, or all with --trigger, --workflow, --state or --since",
    );
  }
  return {
    ...context.project(),
    ...Object.fromEntries(texts),
    ...defined({ since_secs: since }),
  };
}

/**
 * Carries out an operation on all tasks that match: asks first, and reports each task as its result
 * comes.
 *
 * @returns The result of each task; in a dry run, the tasks that match.
 * @throws {AppError} `refused` when the answer is not yes.
 */
export async function forMatching(
  verb: string,
  context: MatchingContext,
  { stream, tell }: {
    readonly stream: (dryRun: boolean) => AsyncIterable<MatchingLine>;
    readonly tell: (result: MatchingResult) => unknown;
  },
): Promise<readonly MatchingResult[]> {
  const dryRun = context.options.dryRun;
  if (!dryRun && !context.options.yes) {
    const total = await countOf(stream(true));
    if (total > 0) await confirm(`${verb} ${total === 1 ? "1 task" : `${total} tasks`}?`, context);
  }
  const results: MatchingResult[] = [];
  let leftOut = 0;
  for await (const line of stream(dryRun)) {
    if ("total" in line) {
      leftOut = line.left_out ?? 0;
      continue;
    }
    results.push(line);
    tell(line);
  }
  if (results.length === 0) context.io.err("No task matches\n");
  if (leftOut > 0) {
    const what = leftOut === 1 ? "1 child is" : `${leftOut} children are`;
    context.io.err(`${what} left out: the retry of the task above starts its children anew\n`);
  }
  return results;
}

async function countOf(lines: AsyncIterable<MatchingLine>): Promise<number> {
  for await (const line of lines) if ("total" in line) return line.total;
  return 0;
}
