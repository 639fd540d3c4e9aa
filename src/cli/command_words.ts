/**
 * Finds the command that the words of a command line name.
 *
 * @module
 */

import { type CommandEntry } from "./command.ts";

/** Short names of commands: the first word that stands for the words of one. */
export const SHORT_NAMES: Readonly<Record<string, readonly string[]>> = { logs: ["task", "logs"] };

/** A command line with the words of the command in the place of its short name. */
export function inFull(args: readonly string[]): readonly string[] {
  const [first = "", ...rest] = args;
  const words = Object.hasOwn(SHORT_NAMES, first) ? SHORT_NAMES[first] : undefined;
  return words === undefined ? args : [...words, ...rest];
}

/**
 * The entry of the command that stands at the beginning of `words`, its short name in full: the longest
 * one, so that `console serve` is not `console` with an argument.
 */
export function entryOf(
  words: readonly string[],
  entries: readonly CommandEntry[],
): CommandEntry | undefined {
  const [longest] = entries
    .filter((entry) => entry.words.split(" ").every((word, at) => words[at] === word))
    .toSorted((a, b) => b.words.length - a.words.length);
  return longest;
}
