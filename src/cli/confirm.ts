/**
 * Asks before something that cannot be undone. A person answers; a script gives `--yes`.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import type { Context } from "./command.ts";
import { type OptionDefinition } from "./option.ts";
import type { Io } from "./io.ts";

/** The option that answers in advance. */
export const YES = { flags: "-y, --yes", help: "do not ask" } as const satisfies OptionDefinition;

/**
 * Returns when `question` was answered with yes, or `--yes` was given.
 *
 * @throws {AppError} `refused` for any other answer, and without a terminal to ask on.
 */
export async function confirm(question: string, context: Context<[typeof YES]>): Promise<void> {
  if (context.options.yes) return;
  const { io } = context;
  if (!io.inIsTerminal) {
    throw new AppError(
      "refused",
      "Nothing was changed: there is no terminal to ask on, add --yes (or --dry-run to see " +
        "what it does)",
    );
  }
  io.err(`${question} [y/N] `);
  if (/^\s*y(es)?\s*$/i.test(await readLine(io))) return;
  throw new AppError("refused", "Nothing was changed: the answer was not yes");
}

/** Reads the typed text up to the end of the line. */
export async function readLine(io: Io): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of io.stdin()) {
    text += decoder.decode(chunk, { stream: true });
    const end = text.indexOf("\n");
    if (end !== -1) return text.slice(0, end);
  }
  return text;
}
