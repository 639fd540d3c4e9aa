/**
 * The option for the text of what a command makes: the text itself, standard input, or a file.
 *
 * @module
 */

import { findText } from "../base/bytes.ts";
import { AppError } from "../base/errors.ts";
import type { Context } from "./command.ts";
import type { OptionDefinition } from "./option.ts";
import { readFile } from "./read_file.ts";

/** The option `--body`. */
export const BODY = {
  flags: "--body <text>",
  help: "the text; - for standard input, @FILE for a file",
} as const satisfies OptionDefinition;

/**
 * The text of `--body`; `undefined` without the option.
 *
 * @throws {AppError} `invalid` when a file cannot be read, or is not UTF-8.
 */
export async function bodyText(context: Context<[typeof BODY]>): Promise<string | undefined> {
  const given = context.options.body;
  if (given === undefined || (given !== "-" && !given.startsWith("@"))) return given;
  const text = findText(await readFile(given === "-" ? "-" : given.slice(1), context.io));
  if (text === undefined) throw new AppError("invalid", "The text of --body is not UTF-8");
  return text;
}
