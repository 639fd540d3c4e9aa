/**
 * Options of the commands that answer: the text, and the task, which inside a step is its own.
 *
 * @module
 */

import { findText } from "../base/bytes.ts";
import { AppError } from "../base/errors.ts";
import { type ArgumentDefinition, type CommandContext, type Context, TASK } from "./command.ts";
import type { OptionDefinition } from "./option.ts";
import { readFile } from "./read_file.ts";

/** A task that may be left out inside a step. */
export const OWN_TASK: ArgumentDefinition = {
  name: "[task]",
  help: `${TASK.help} (default: $SVC_TASK_ID)`,
  complete: "task",
};

/** The option for the text, which otherwise comes from standard input. */
export const ANSWER_TEXT = {
  flags: "--text <text>",
  help: "the text; - for standard input",
} as const satisfies OptionDefinition;

/**
 * The task that is named, else that of the step.
 *
 * @throws {AppError} `usage` where there is neither.
 */
export function taskOf(context: CommandContext): string {
  const task = context.argument(0) || context.io.env("SVC_TASK_ID") || "";
  if (task === "") throw new AppError("usage", "Name the task, or run this inside a step");
  return task;
}

/**
 * The text of `--text`, or of standard input.
 *
 * @throws {AppError} `usage` without one; `invalid` when it is not UTF-8.
 */
export async function answerText(context: Context<[typeof ANSWER_TEXT]>): Promise<string> {
  const given = context.options.text;
  if (given === undefined) throw new AppError("usage", "Give the text: --text TEXT, or --text -");
  const text = given === "-" ? findText(await readFile("-", context.io)) : given;
  if (text === undefined) throw new AppError("invalid", "The text is not UTF-8");
  return text;
}
