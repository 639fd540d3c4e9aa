/**
 * `svc completions`: makes the completion scripts from the registry of commands.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { type Command, type CommandEntry, defineCommand } from "../command.ts";
import { type OptionDefinition } from "../option.ts";
import { SHORT_NAMES } from "../command_words.ts";
import { completedArgument, completedOption, flagsOf } from "../completion.ts";
import { type CompletedOption, type Place, SCRIPTS } from "../completion_scripts.ts";

const SHELLS = Object.keys(SCRIPTS);

export const command: Command = defineCommand({
  help: "Prints a script that completes commands, options and their values; names and ids come " +
    "from the daemon, if it runs. To install the script:\n\n" +
    "bash: into ~/.local/share/bash-completion/completions/svc\n\n" +
    'zsh: into a file _svc in a directory of $fpath, such as "${fpath[1]}/_svc"\n\n' +
    "fish: into ~/.config/fish/completions/svc.fish\n\n" +
    "Then start a new shell. The examples show how.",
  arguments: [{ name: "<shell>", help: SHELLS.join(", "), complete: SHELLS }],
  examples: [
    "source <(svc completions bash)",
    "svc completions bash > ~/.local/share/bash-completion/completions/svc",
    'svc completions zsh > "${fpath[1]}/_svc"',
    "svc completions fish > ~/.config/fish/completions/svc.fish",
  ],
  async run(context, { commands }) {
    const shell = context.argument(0);
    const make = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
    if (make === undefined) {
      throw new AppError("usage", `Unknown shell "${shell}": use one of ${SHELLS.join(", ")}`);
    }
    const entries = withShortNames(commands.filter(({ internal }) => !internal));
    context.io.out(make([...groups(entries), ...await Promise.all(entries.map(toPlace))]));
  },
});

/** Each command, also under its short name. */
function withShortNames(entries: readonly CommandEntry[]): readonly CommandEntry[] {
  const short = Object.entries(SHORT_NAMES).flatMap(([words, full]) =>
    entries.filter((entry) => entry.words === full.join(" ")).map((entry) => ({ ...entry, words }))
  );
  return [...entries, ...short];
}

const HELP: OptionDefinition = { flags: "-h, --help", help: "print this help" };

/** The places before a command is complete: `svc`, `svc task`. */
function groups(entries: readonly CommandEntry[]): Place[] {
  const next = new Map<string, Map<string, string>>();
  for (const { words, summary } of entries) {
    const parts = words.split(" ");
    for (const [depth, word] of parts.entries()) {
      const at = parts.slice(0, depth).join(" ");
      const help = depth === parts.length - 1 ? summary : `commands that start with ${word}`;
      next.set(at, (next.get(at) ?? new Map<string, string>()).set(word, help));
    }
  }
  return [...next].map(([words, below]) => ({
    words,
    next: [...below].map(([word, help]) => ({ word, help })),
    options: [toCompleted(HELP)],
    rest: "nothing",
  }));
}

async function toPlace({ words, load }: CommandEntry): Promise<Place> {
  const { command } = await load();
  const first = completedArgument(command, 0);
  const isList = typeof first === "object";
  return {
    words,
    next: isList ? first.map((word) => ({ word, help: "" })) : [],
    options: [...command.options ?? [], HELP].map(toCompleted),
    rest: first === undefined ? "nothing" : first === "file" ? "path" : "asked",
  };
}

function toCompleted(option: OptionDefinition): CompletedOption {
  const complete = completedOption(option);
  const placeholder = /<[^>]+>/.exec(option.flags)?.[0];
  const ofText = complete === undefined ? "text" : "asked";
  const takes = typeof complete === "object" ? complete : complete === "file" ? "path" : ofText;
  return {
    flags: flagsOf(option),
    help: option.help,
    takes: placeholder === undefined ? "nothing" : takes,
    repeatable: placeholder?.includes("...") === true,
  };
}
