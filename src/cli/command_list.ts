/**
 * The list of commands that `svc --help` prints, and the refusal of an unknown command.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import { type CommandEntry } from "./command.ts";
import { isGroup, type ListedName, suggestCommand } from "./suggest.ts";

/** The headings of the list, each with the first words of the commands under it. */
export const SECTIONS: readonly (readonly [heading: string, firstWords: readonly string[]])[] = [
  ["Setup", [
    "init",
    "daemon",
    "status",
    "doctor",
    "service",
    "pause",
    "resume",
    "stats",
    "console",
    "integration",
    "docs",
    "completions",
    "version",
  ]],
  ["Connections", ["connect", "disconnect", "connection"]],
  ["Resources", ["apply", "get", "describe", "edit", "delete", "secret", "schema"]],
  ["Triggers and deliveries", ["trigger", "delivery"]],
  ["Tasks", ["task", "agent", "sandbox", "mcp"]],
  ["Chat", ["conversation", "source", "slack"]],
  ["Answers", ["github", "gitlab", "line", "outbox", "notification"]],
  ["Access and plugins", ["token", "audit", "policy"]],
  ["Database", ["db", "node"]],
  ["Tools for scripts", ["tool"]],
];

/** What svc does, after its name. */
export const PURPOSE = "turns signed webhooks into agent workflows";

/** The form of a command line. */
export const USAGE = "svc COMMAND [ARGUMENTS]";

/** The command lines to begin with, as the help suggests them. */
export const FIRST_STEPS: readonly string[] = ["svc init && svc daemon", "svc integration list"];

/** The commands under each heading that has some. */
export function sections(
  entries: readonly CommandEntry[],
): readonly (readonly [heading: string, entries: readonly CommandEntry[]])[] {
  const known = SECTIONS.flatMap(([, words]) => words);
  const others = entries.map(firstWord).filter((word) => !known.includes(word));
  return [...SECTIONS, ["Other commands", others] as const].map(([heading, words]) => {
    const own = words.flatMap((word) => entries.filter((entry) => firstWord(entry) === word));
    return [heading, [...new Set(own)]] as const;
  }).filter(([, own]) => own.length > 0);
}

/** Every command under its heading. */
export function fullList(entries: readonly CommandEntry[]): string {
  const width = widthOf(entries);
  const lists = sections(entries).map(([heading, own]) =>
    `${heading}:\n${listing(own, width)}\n\n`
  );
  return `svc ${PURPOSE}.\n\nUsage: ${USAGE}\n\n${lists.join("")}` +
    "More about one: svc help COMMAND. The manual: svc docs\n\n" +
    `Start here:\n${FIRST_STEPS.map((line) => `  ${line}\n`).join("")}`;
}

/** The commands that begin with `group`. */
export function groupList(entries: readonly CommandEntry[], group: string): string {
  return `Usage: svc ${group} COMMAND [ARGUMENTS]\n\nCommands:\n` +
    `${listing(entries, widthOf(entries))}\n\nMore about one: svc help ${group} COMMAND\n`;
}

/** The refusal of an unknown command, with a suggestion where a known one is similar. */
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

/** The word that a command shares with the others of its group. */
export function firstWord({ words }: CommandEntry): string {
  return words.split(" ")[0] ?? "";
}
