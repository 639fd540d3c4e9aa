/**
 * The list of commands that `svc --help` prints, and what is said about a command that there is
 * not.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import type { CommandEntry } from "./commands.ts";
import { isGroup, type ListedName, suggestCommand } from "./suggest.ts";

/** The headings of the list, each with the first words of the commands under it. */
export const SECTIONS: readonly (readonly [heading: string, firstWords: readonly string[]])[] = [
  ["Setup", [
    "init",
    "daemon",
    "status",
    "stats",
    "console",
    "integration",
    "completions",
    "version",
  ]],
  ["Connections", ["connect", "disconnect", "connection"]],
  ["Resources", ["apply", "get", "describe", "edit", "delete", "secret", "schema"]],
  ["Triggers and deliveries", ["trigger", "delivery"]],
  ["Tasks", ["task"]],
  ["Chat", ["source", "slack"]],
  ["Answers", ["github", "line", "outbox", "notification"]],
  ["Access and plugins", ["token", "audit", "policy"]],
  ["Database", ["db", "node"]],
  ["Tools for scripts", ["tool"]],
];

/** Every command under its heading. */
export function fullList(entries: readonly CommandEntry[]): string {
  const width = widthOf(entries);
  const known = SECTIONS.flatMap(([, words]) => words);
  const others = entries.map(firstWord).filter((word) => !known.includes(word));
  const sections = [...SECTIONS, ["Other commands", others] as const].map(([heading, words]) => {
    const own = words.flatMap((word) => entries.filter((entry) => firstWord(entry) === word));
    return own.length === 0 ? "" : `${heading}:\n${listing([...new Set(own)], width)}\n\n`;
  });
  return "svc turns signed webhooks into agent workflows.\n\nUsage: svc COMMAND [ARGUMENTS]\n\n" +
    `${sections.join("")}More about one: svc help COMMAND\n\n` +
    "Start here:\n  svc init && svc daemon\n  svc integration list\n";
}

/** The commands that begin with `group`. */
export function groupList(entries: readonly CommandEntry[], group: string): string {
  return `Usage: svc ${group} COMMAND [ARGUMENTS]\n\nCommands:\n` +
    `${listing(entries, widthOf(entries))}\n\nMore about one: svc help ${group} COMMAND\n`;
}

/** The refusal of a command that there is not. */
export function unknownCommand(
  typed: readonly string[],
  entries: readonly CommandEntry[],
  listed: readonly ListedName[],
): AppError {
  const commands = entries.map(({ words }) => words);
  const [first = ""] = typed;
  const group = isGroup(first, commands);
  const said = typed.slice(0, group ? 2 : 1).join(" ");
  const meant = suggestCommand(typed, { commands, listed });
  if (meant !== undefined) {
    return new AppError("usage", `Unknown command "${said}": did you mean "svc ${meant}"?`);
  }
  const verbs = commands.filter((words) => words.startsWith(`${first} `))
    .map((words) => words.slice(first.length + 1));
  const next = group ? `svc ${first} takes ${verbs.join(", ")}` : '"svc --help" lists them';
  return new AppError("usage", `Unknown command "${said}": ${next}`);
}

function listing(entries: readonly CommandEntry[], width: number): string {
  return entries.map(({ words, summary }) => `  ${words.padEnd(width)}${summary}`).join("\n");
}

function widthOf(entries: readonly CommandEntry[]): number {
  return Math.max(...entries.map(({ words }) => words.length)) + 2;
}

function firstWord({ words }: CommandEntry): string {
  return words.split(" ")[0] ?? "";
}
