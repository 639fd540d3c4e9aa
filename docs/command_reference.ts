/**
 * Writes docs/commands.md from the definitions of the commands, as the help and the manual pages are
 * made. `make docs`; a test finds it out when that was forgotten.
 *
 * @module
 */

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type Command,
  type CommandEntry,
  CONNECTION,
  OUTPUT,
  OUTPUT_TEXT_JSON,
  PROJECT,
} from "../src/cli/command.ts";
import { sections, USAGE } from "../src/cli/command_list.ts";
import { LISTED } from "../src/cli/commands/commands.ts";
import { type HelpLine, helpParts } from "../src/cli/help.ts";
import type { OptionDefinition } from "../src/cli/option.ts";

/** The page. */
export const PAGE = join(fileURLToPath(new URL(".", import.meta.url)), "commands.md");

/** Options that many commands have: explained once, and only named elsewhere. */
const COMMON: readonly OptionDefinition[] = [...CONNECTION, PROJECT, OUTPUT, OUTPUT_TEXT_JSON];
const COMMON_HEADING = "Options that many commands have";
const COMMON_ANCHOR = "#options-that-many-commands-have";

const INTRODUCTION = `# Commands

Every command of \`svc\` with its options and examples, for those who look one up. \`svc help COMMAND\` prints the same for one command, and so do the manual pages (\`man svc-task\`). This page is generated from the definitions of the commands: \`make docs\`.

\`\`\`sh
${USAGE}
\`\`\`

A command that works on a running daemon finds it by its control socket in the data directory. With \`--server\` it asks a daemon on another machine ([access.md](access.md)). Where a command takes an id, a part of the id or \`latest\` does as well. \`svcd\` is \`svc daemon\`, and \`svc logs\` is \`svc task logs\`.

## Exit codes

| code | meaning |
|---|---|
| 0 | done |
| 1 | refused, failed, or a negative answer |
| 2 | wrong usage: the command line is not valid |
| 3 | the daemon cannot be reached |
| 4 | not found |
| 5 | not allowed: the token or role has no right to do this |
`;

/** The whole page, for the commands as they are. */
export async function commandReference(): Promise<string> {
  const common = optionLines("", { ...EMPTY, options: [...CONNECTION, PROJECT] });
  const lists = await Promise.all(
    sections(LISTED).map(async ([heading, entries]) =>
      [`## ${heading}\n`, ...await Promise.all(entries.map(commandText))].join("\n")
    ),
  );
  return [
    INTRODUCTION,
    `## ${COMMON_HEADING}\n`,
    "`--data-dir`, `--server` and `--ca-file` may also stand before the command. " +
    "`-o` says how to print: the command lists its formats.\n",
    table("option", [...common, ["-o, --output <format>", "how to print, such as `json`"]], true),
    ...lists,
  ].join("\n");
}

const EMPTY: Command = { help: "", examples: [], run: () => Promise.resolve() };

async function commandText({ words, load }: CommandEntry): Promise<string> {
  const { command } = await load();
  const { usage, description, arguments: named, examples } = helpParts(words, command);
  const common = (command.options ?? []).filter((option) => COMMON.includes(option));
  const own = (command.options ?? []).filter((option) => !COMMON.includes(option));
  const options = optionLines(words, { ...command, options: own });
  const also = common.map(({ flags, choices = [], fallback = "" }) => {
    const [name = ""] = /--[a-z-]+/.exec(flags) ?? [];
    const values = choices.map((one) => one === fallback ? `${one} (default)` : one).join(", ");
    return choices.length === 0 ? `\`${name}\`` : `\`-o\`: ${values}`;
  });
  return [
    `### svc ${words}\n`,
    `\`${usage}\`\n`,
    `${description.split("\n\n").map(escaped).join("\n\n")}\n`,
    ...named.length === 0 ? [] : [table("argument", named)],
    ...options.length === 0 ? [] : [table("option", options)],
    ...also.length === 0 ? [] : [`[Also](${COMMON_ANCHOR}) ${also.join(", ")}.\n`],
    `\`\`\`sh\n${examples.join("\n")}\n\`\`\`\n`,
  ].join("\n");
}

/** Options as the help explains them, without `--help`, which every command has. */
function optionLines(words: string, command: Command): readonly HelpLine[] {
  return helpParts(words, command).options.filter(([flags]) => flags !== "-h, --help");
}

function table(name: string, lines: readonly HelpLine[], isMarkdown = false): string {
  const rows = lines.map(([term, text]) => {
    const said = isMarkdown ? text.replaceAll("|", "\\|") : escaped(text);
    return `| \`${term}\` | ${said} |\n`;
  });
  return `| ${name} | |\n|---|---|\n${rows.join("")}`;
}

/** A text of a help, in which nothing is Markdown. */
function escaped(text: string): string {
  return text.replace(/\s+/g, " ").replace(/[\\<*|[\]`]|(?<!\w)_|_(?!\w)/g, "\\$&");
}

if (import.meta.main) await Deno.writeTextFile(PAGE, await commandReference());
