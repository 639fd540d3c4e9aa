/**
 * Writes the manual pages into a directory: `svc.1`, and a page for each first word of a command,
 * such as `svc-task.1`. They have the text of the help, from the same definitions, set in roff.
 *
 * @module
 */

import { join } from "node:path";
import { VERSION } from "../src/base/version.ts";
import { FIRST_STEPS, firstWord, PURPOSE, sections, USAGE } from "../src/cli/command_list.ts";
import type { CommandEntry } from "../src/cli/command.ts";
import { SHORT_NAMES } from "../src/cli/command_words.ts";
import { LISTED } from "../src/cli/commands/commands.ts";
import { type HelpLine, type HelpParts, helpParts } from "../src/cli/help.ts";

/** Other names of pages, which become links to them: `svcd`, and the short names. */
const OTHER_NAMES: readonly (readonly [name: string, word: string])[] = [
  ["svcd", "daemon"],
  ...Object.entries(SHORT_NAMES).map(([name, [word = ""]]) => [`svc-${name}`, word] as const),
];

/** The files that are links, each with the page that it links to. */
export const LINKS: ReadonlyMap<string, string> = new Map(
  OTHER_NAMES.map(([name, word]) => [`${name}.1`, `svc-${word}.1`]),
);

/**
 * Every page by the name of its file.
 *
 * @param date as `YYYY-MM-DD`, which stands at the foot of each page; empty for none.
 */
export async function manPages(date: string): Promise<ReadonlyMap<string, string>> {
  const groups = Map.groupBy(LISTED, firstWord);
  const pages = new Map([["svc.1", mainPage([...groups.keys()], date)]]);
  for (const [word, entries] of groups) {
    const helps = await Promise.all(entries.map(async ({ words, load }) => {
      return helpParts(words, (await load()).command);
    }));
    pages.set(`svc-${word}.1`, groupPage(word, entries, helps, date));
  }
  return pages;
}

function mainPage(words: readonly string[], date: string): string {
  const lists = sections(LISTED).flatMap(([heading, entries]) => [
    `.SS ${quoted(heading)}`,
    ...entries.flatMap(({ words, summary }) => tagged(bold(`svc ${words}`), summary)),
  ]);
  const others = words.toSorted().map((word) => `svc-${word}`);
  return page([
    head("svc", date),
    `svc \\- ${roffText(PURPOSE)}`,
    ".SH SYNOPSIS",
    usageText(USAGE),
    ".SH DESCRIPTION",
    roffText(`svc ${PURPOSE}.`),
    roffText("A command has its page under its first word: man svc-task explains svc task logs."),
    ".SH COMMANDS",
    ...lists,
    ".SH EXAMPLES",
    ...example(FIRST_STEPS),
    ...seeAlso(others),
  ]);
}

function groupPage(
  word: string,
  entries: readonly CommandEntry[],
  helps: readonly HelpParts[],
  date: string,
): string {
  const [one] = helps.length === 1 ? helps : [];
  const names = [
    `svc-${word}`,
    ...OTHER_NAMES.filter(([, of]) => of === word).map(([name]) => name),
  ];
  const does = one === undefined
    ? entries.map(({ words }) => words.slice(word.length + 1)).join(", ")
    : entries[0]?.summary ?? "";
  return page([
    head(`svc-${word}`, date),
    `${names.map(roffText).join(", ")} \\- ${roffText(does)}`,
    ".SH SYNOPSIS",
    ...helps.flatMap(({ usage }, at) => [...at === 0 ? [] : [".br"], usageText(usage)]),
    ...one === undefined
      ? [
        ".SH COMMANDS",
        ...helps.flatMap((help, at) => commandText(help, entries[at]?.words ?? "")),
      ]
      : [".SH DESCRIPTION", ...helpText(one, (heading) => [`.SH ${heading.toUpperCase()}`])],
    ...seeAlso(["svc"]),
  ]);
}

/** A command as an entry of a list. */
function commandText(help: HelpParts, words: string): string[] {
  return [
    `.SS ${quoted(`svc ${words}`)}`,
    ...helpText(help, (heading) => [".PP", `${heading}:`]),
  ];
}

/** The help of a command under these headings, without its usage. */
function helpText(help: HelpParts, heading: (text: string) => string[]): string[] {
  const list = (name: string, lines: readonly HelpLine[]) =>
    lines.length === 0
      ? []
      : [...heading(name), ...lines.flatMap(([term, text]) => tagged(termText(term), text))];
  return [
    ...help.description.split("\n\n").flatMap((paragraph, at) => [
      ...at === 0 ? [] : [".PP"],
      roffText(paragraph),
    ]),
    ...list("Arguments", help.arguments),
    ...list("Options", help.options),
    ...heading("Examples"),
    ...example(help.examples),
  ];
}

function head(name: string, date: string): string {
  const source = quoted(`svc ${VERSION}`);
  return `.TH ${name.toUpperCase()} 1 "${date}" ${source} "svc manual"\n.SH NAME`;
}

function seeAlso(names: readonly string[]): string[] {
  const last = names.length - 1;
  return [
    ".SH SEE ALSO",
    ...names.map((name, at) => `.BR ${roffText(name)} (1)${at === last ? "" : ","}`),
  ];
}

function page(lines: readonly string[]): string {
  return `${lines.join("\n")}\n`;
}

function tagged(tag: string, text: string): string[] {
  return [".TP", tag, roffText(text)];
}

function example(lines: readonly string[]): string[] {
  return [".EX", ...lines.map(roffText), ".EE"];
}

/** `svc task logs [options] <task>`, with placeholders in italics. */
function usageText(usage: string): string {
  const [words = ""] = /^[a-z -]+(?= |$)/.exec(usage) ?? [];
  return `${bold(words)}${placeholders(usage.slice(words.length))}`;
}

/** `-o, --output <format>` or the name of an argument. */
function termText(term: string): string {
  if (!term.startsWith("-")) return italic(term);
  return term.split(/(?<!\w)(-[\w-]+)/).map((part) =>
    part.startsWith("-") ? bold(part) : placeholders(part)
  ).join("");
}

/** A text with placeholders (in angle brackets or capitals) in italics. */
function placeholders(text: string): string {
  return text.split(/(<[^>]+>|[A-Z]+|(?<=\[)[a-z-]+)/).map((part, at) => {
    if (at % 2 === 0) return roffText(part);
    const [, name = part, more = ""] = /^<(.*?)(\.\.\.)?>$/.exec(part) ?? [];
    return italic(name) + more;
  }).join("");
}

function bold(text: string): string {
  return `\\fB${roffText(text)}\\fR`;
}

function italic(text: string): string {
  return `\\fI${roffText(text)}\\fR`;
}

/** A text as an argument of a macro. */
function quoted(text: string): string {
  return `"${roffText(text)}"`;
}

/**
 * Escapes the characters that roff interprets. A bare hyphen would be set as a typographic hyphen,
 * which no shell accepts.
 */
const SPECIAL: Readonly<Record<string, string>> = {
  "\\": "\\(rs",
  "-": "\\-",
  "'": "\\(aq",
  '"': "\\(dq",
  "`": "\\(ga",
  "^": "\\(ha",
  "~": "\\(ti",
};

/** Escapes a text so that roff sets it unchanged, also at the start of a line. */
export function roffText(text: string): string {
  return text.replace(/\s*\n\s*/g, " ")
    .replace(/[\\'"`^~-]/g, (character) => SPECIAL[character] ?? character)
    .replace(/[^\x20-\x7e]/gu, (character) => {
      return `\\[u${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}]`;
    })
    .replace(/^\./, "\\&.");
}

if (import.meta.main) {
  const [directory = ""] = Deno.args;
  const seconds = Deno.env.get("SOURCE_DATE_EPOCH") ?? "";
  const date = seconds === "" ? "" : new Date(Number(seconds) * 1000).toISOString();
  for (const [name, text] of await manPages(date.slice(0, 10))) {
    await Deno.writeTextFile(join(directory, name), text);
  }
  for (const [name, target] of LINKS) await Deno.symlink(target, join(directory, name));
}
