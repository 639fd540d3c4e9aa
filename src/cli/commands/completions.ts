/**
 * `svc completions`: what there is to complete, taken from the registry of commands.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { listPackages } from "../../integrations/packages.ts";
import { KINDS } from "../../resources/kinds.ts";
import { RECORD_PLURALS } from "../../resources/record_names.ts";
import { type Command, type CommandContext, type OptionDefinition } from "../command.ts";
import { type CommandEntry, LISTED } from "../commands.ts";
import { type CompletedOption, type Place, SCRIPTS } from "../completion_scripts.ts";

const SHELLS = Object.keys(SCRIPTS);

/** Prints a completion script. */
export const command: Command = {
  help: "Prints a script that completes commands, options and their values. Needs no daemon.",
  arguments: [{ name: "<shell>", help: SHELLS.join(", ") }],
  examples: [
    "source <(svc completions bash)",
    "svc completions bash > ~/.local/share/bash-completion/completions/svc",
    'svc completions zsh > "${fpath[1]}/_svc"',
    "svc completions fish > ~/.config/fish/completions/svc.fish",
  ],
  async run(context: CommandContext) {
    const shell = context.argument(0);
    const make = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
    if (make === undefined) {
      throw new AppError("usage", `Unknown shell "${shell}": use one of ${SHELLS.join(", ")}`);
    }
    context.io.out(make([...groups(), ...await Promise.all(LISTED.map(toPlace))]));
  },
};

const HELP: OptionDefinition = { flags: "-h, --help", help: "print this help" };

/** The places before a command is complete: `svc`, `svc task`. */
function groups(): Place[] {
  const next = new Map<string, Map<string, string>>();
  for (const { words, summary } of LISTED) {
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
  }));
}

async function toPlace({ words, load }: CommandEntry): Promise<Place> {
  const { command } = await load();
  const next = firstArgument(words).map((word) => ({ word, help: "" }));
  return { words, next, options: [...command.options ?? [], HELP].map(toCompleted) };
}

function toCompleted({ flags, help, choices }: OptionDefinition): CompletedOption {
  const [, placeholder, more] = /<([^>]+?)(\.\.\.)?>/.exec(flags) ?? [];
  const isPath = placeholder === "file" || placeholder === "dir";
  return {
    flags: flags.match(/(?<![\w-])--?[A-Za-z][\w-]*/g) ?? [],
    help,
    takes: choices ?? (placeholder === undefined ? "nothing" : isPath ? "path" : "text"),
    repeatable: more !== undefined,
  };
}

/** The closed lists among first arguments; every other one is a name or an id. */
function firstArgument(words: string): readonly string[] {
  const kinds = KINDS.map((kind) => kind.plural);
  switch (words) {
    case "completions":
      return SHELLS;
    case "integration install":
    case "integration show":
      return listPackages().map((one) => one.name);
    case "schema":
      return KINDS.map((kind) => kind.kind);
    case "delete":
      return kinds;
    case "get":
    case "describe":
      return [...RECORD_PLURALS, ...kinds];
    default:
      return [];
  }
}
