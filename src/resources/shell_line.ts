/**
 * Shell lines in manifests: they are passed to the shell unchanged, so templates in them are
 * refused.
 *
 * @module
 */

import { findUnsafePlaceholder } from "../cel/template.ts";
import { errorAt, type FieldPath, type Finding } from "./resource.ts";

/** Checks a shell line at path `at`. */
export function checkShellLine(line: string, at: FieldPath): Finding[] {
  if (line.includes("\0")) return [errorAt(at, "A shell line cannot hold a NUL character")];
  const hole = findUnsafePlaceholder(line);
  if (hole === undefined) return [];
  return [errorAt(
    at,
    `${hole} is not filled in here, or text from outside could become shell: ` +
      `set it under "env" (env: {VALUE: "${hole}"}) and write "$VALUE"`,
  )];
}

/** An assignment before a command, its value without anything that the shell expands. */
const ASSIGNMENT = /^[A-Za-z_][A-Za-z0-9_]*=[\w.,:/@%+=-]*\s+/;

/** A prefix that only says how the shell starts the command after it. */
const PREFIX = /^exec\s+(?!-)/;

/** Words that the shell runs itself, or reads as part of its grammar. */
const OWN_WORDS = new Set(
  (". : alias bg break case cd command continue do echo elif else esac eval exec exit export " +
    "false fc fg fi for getopts hash if jobs kill local printf pwd read readonly return set shift " +
    "test then times trap true type ulimit umask unalias unset until wait while").split(" "),
);

/** The last of several lines, if the shell becomes the program in it. */
const BECOMES = /(?<![\\|&])\n(exec\s[^\n]*)\s*$/;

/**
 * The program that a line starts first, as it is written, or that the last of several lines hands over
 * to by `exec`; `undefined` if it depends on variables or expansions.
 */
export function programOf(line: string): string | undefined {
  const [, last = ""] = BECOMES.exec(line) ?? [];
  const handedTo = /\bPATH=/.test(line) ? undefined : firstProgram(last);
  return handedTo ?? firstProgram(line);
}

function firstProgram(line: string): string | undefined {
  let rest = line.replace(/^(\s|#.*\n)+/, "");
  while (ASSIGNMENT.test(rest)) {
    if (rest.startsWith("PATH=")) return undefined;
    rest = rest.replace(ASSIGNMENT, "");
  }
  rest = rest.replace(PREFIX, "");
  const [word = ""] = /^[^\s;&|<>]+/.exec(rest) ?? [];
  const isFunction = rest.slice(word.length).trimStart().startsWith("(");
  const isPlain = /^(~\/)?[\w.,:/@%+-]+$/.test(word) && !isFunction && !OWN_WORDS.has(word);
  return isPlain ? word : undefined;
}
