/**
 * The definition of a command of `svc`. Each command is a file, named by its words, that exports
 * one. The word `test` is `try` in such a name, because `*_test.ts` is a test.
 *
 * @module
 */

import type { Client } from "../api/client.ts";
import { type DataDir, locateDataDir } from "../base/data_dir.ts";
import { AppError } from "../base/errors.ts";
import { fileFault } from "../base/file_fault.ts";
import type { Io } from "./io.ts";
import type { Completed, OptionDefinition, OptionValues } from "./option.ts";

/** One positional argument: `<name>`, `[name]` or `[name...]`. */
export interface ArgumentDefinition {
  /**
   * Its name in brackets: `<name>` is required, `[name]` may be left out, `...` may be repeated.
   */
  readonly name: string;
  /** One line of help. */
  readonly help: string;
  /**
   * Whether it stands after `--`, where options are no longer those of svc; only the last argument does.
   */
  readonly separate?: true;
  /** What a shell completes it with; absent where the name, such as `<file>`, implies it. */
  readonly complete?: Completed;
}

/** An argument in a line of usage. */
export function usageOf({ name, separate }: ArgumentDefinition): string {
  return separate === true ? `-- ${name}` : name;
}

/** One command, as the program runs it: whatever options it has. */
export interface Command {
  /** One sentence or two for its own help. */
  readonly help: string;
  /** Positional arguments in order. */
  readonly arguments?: readonly ArgumentDefinition[];
  /** Options in the order of the help. */
  readonly options?: readonly OptionDefinition[];
  /** Complete command lines that work, with what they do where it is not plain. */
  readonly examples: readonly string[];
  /**
   * Runs the command with the values that `parseArguments` reads by these options; returns the exit
   * code, or nothing for 0.
   */
  run(context: CommandContext, program: Program): Promise<number | void>;
}

/** One command, whose context has the values of its options. */
interface CommandWith<Options extends readonly OptionDefinition[]> extends Command {
  readonly options?: Options;
  run(context: Context<Options>, program: Program): Promise<number | void>;
}

/** The context that a command with these options gets. */
export type Context<Options extends readonly OptionDefinition[]> = CommandContext<
  OptionValues<Options>
>;

/** A command; the types of `context.options` follow from its definitions of options. */
export function defineCommand<const Options extends readonly OptionDefinition[] = []>(
  command: CommandWith<Options>,
): Command {
  return command;
}

/**
 * The program that runs a command. Through it a command reaches the other commands, because the
 * registry, which loads every command, cannot be imported by one.
 */
export interface Program {
  /** Every command, in the order of the help. */
  readonly commands: readonly CommandEntry[];
  /** Runs a command line; returns the exit code. */
  readonly run: (args: readonly string[], io: Io) => Promise<number>;
  /** Whether the daemon may run a command line for a script of one of its runs. */
  readonly isServed: (args: readonly string[]) => boolean;
}

/** One entry of the registry of commands. */
export interface CommandEntry {
  /** Words on the command line, separated by blanks. */
  readonly words: string;
  /** One line for lists of commands. */
  readonly summary: string;
  /** Whether only the daemon runs the command, so that no list of commands shows it. */
  readonly internal: boolean;
  /**
   * Whether the daemon may run the command for a script of a plugin or a step, without starting a
   * process. Such a command does little, and reaches everything outside of it through its `Io`.
   */
  readonly served: boolean;
  readonly load: () => Promise<{ readonly command: Command }>;
}

const NAMED = "id or a part of it, or latest";

/** A task, in any way in which the daemon finds it. */
export const TASK: ArgumentDefinition = {
  name: "<task>",
  help: `${NAMED}; also as task/ID`,
  complete: "task",
};

/** One task or several. */
export const TASKS: ArgumentDefinition = {
  name: "<task...>",
  help: TASK.help,
  complete: "task",
};

/** A trigger by its name. */
export const TRIGGER: ArgumentDefinition = {
  name: "<trigger>",
  help: "name of the trigger",
  complete: "trigger",
};

/** A delivery, in any way in which the daemon finds it. */
export const DELIVERY: ArgumentDefinition = {
  name: "<delivery>",
  help: `${NAMED}; also as delivery/ID`,
  complete: "delivery",
};

/** An event of a chat platform, in any way in which the daemon finds it. */
export const SOURCE_EVENT: ArgumentDefinition = {
  name: "<event>",
  help: `${NAMED}; also as source-event/ID`,
  complete: "source-event",
};

/** A message of the outbox, in any way in which the daemon finds it. */
export const MESSAGE: ArgumentDefinition = {
  name: "<message>",
  help: `${NAMED}; also as outbox/ID`,
  complete: "outbox",
};

/** `--data-dir`, which every command that needs a daemon or its files has. */
export const DATA_DIR = {
  flags: "--data-dir <dir>",
  help: "data directory (default: $SVC_DATA_DIR, else ~/.svc)",
} as const satisfies OptionDefinition;

/** Options of a command that asks a daemon over TLS. */
export const SERVER = [
  {
    flags: "--server <url>",
    help:
      "daemon on another machine, https://HOST:PORT (default: $SVC_SERVER); its token in $SVC_TOKEN",
  },
  {
    flags: "--ca-file <file>",
    help: "CA certificate that the server is verified with (default: $SVC_CA_FILE)",
  },
] as const satisfies readonly OptionDefinition[];

/** Options of every command that asks a daemon. */
export const CONNECTION = [DATA_DIR, ...SERVER] as const satisfies readonly OptionDefinition[];

/** The option of every command that works in a project. */
export const PROJECT = {
  flags: "-p, --project <name>",
  help: 'project (default: $SVC_PROJECT, else "default")',
  complete: "project",
} as const satisfies OptionDefinition;

/** `-o` of commands that show things. */
export const OUTPUT = {
  flags: "-o, --output <format>",
  help: "how to print",
  choices: ["table", "wide", "json", "yaml", "name"],
  fallback: "table",
} as const satisfies OptionDefinition;

/** `-o` of commands that report what they did. */
export const OUTPUT_TEXT_JSON = {
  flags: "-o, --output <format>",
  help: "how to print",
  choices: ["text", "json"],
  fallback: "text",
} as const satisfies OptionDefinition;

/** A command line after parsing. */
export interface ParsedArguments {
  /** Positional arguments; a repeated one is several texts. */
  readonly positional: readonly (string | readonly string[] | undefined)[];
  /** The values of all options of the command ({@linkcode OptionValues}). */
  readonly options: Readonly<Record<string, unknown>>;
}

/** The input of a command: its options, its arguments, and the terminal. */
export class CommandContext<Options = object> {
  readonly io: Io;
  /** The values of the options of the command. */
  readonly options: Options;
  readonly #positional: ParsedArguments["positional"];

  /** A context for one run. */
  constructor(io: Io, options: Options, positional: ParsedArguments["positional"] = []) {
    this.io = io;
    this.options = options;
    this.#positional = positional;
  }

  /** The positional argument at `index`; empty when it was left out. */
  argument(index: number): string {
    const value = this.#positional[index];
    return typeof value === "string" ? value : "";
  }

  /** The values of the repeated positional argument at `index`. */
  arguments(index: number): readonly string[] {
    const value = this.#positional[index];
    return typeof value === "string" ? [value] : value ?? [];
  }

  /** The data directory that the option names, or the environment. */
  dir(this: Context<[typeof DATA_DIR]>): DataDir {
    return locateDataDir({ flag: this.options.dataDir, env: this.io.env });
  }

  /** A client of the daemon. */
  client(this: Context<typeof CONNECTION>): Client {
    return this.#serverUrl() ? this.remoteClient() : this.localClient();
  }

  /** A client of the daemon that the command line or the environment names, over TLS. */
  remoteClient(this: Context<typeof SERVER>): Client {
    const token = this.#token();
    const url = this.#serverUrl() ?? "";
    if (!/^https:\/\/[^\s/]+\/?$/.test(url)) {
      throw new AppError("usage", `--server takes https://HOST:PORT, not "${url}"`);
    }
    if (token === undefined) {
      throw new AppError(
        "usage",
        '--server needs a token: set SVC_TOKEN ("svc token create" makes one)',
      );
    }
    const caFile = this.options.caFile || this.io.env("SVC_CA_FILE");
    const tls = caFile ? { caCert: () => readCertificate(caFile) } : {};
    return this.io.connect({ url, ...tls }, token);
  }

  /** A client of the daemon on this machine, even if the command line names another. */
  localClient(this: Context<[typeof DATA_DIR]>): Client {
    const dataDir = this.dir();
    return this.io.connect({ socket: dataDir.socket, dataDir }, this.#token());
  }

  #serverUrl(this: Context<typeof SERVER>): string | undefined {
    return this.options.server || this.io.env("SVC_SERVER") || undefined;
  }

  #token(): string | undefined {
    return this.io.env("SVC_TOKEN") || this.io.env("SVC_RUN_TOKEN") || undefined;
  }

  /** `{project}` when one was named, to be spread into a request. */
  project(this: Context<[typeof PROJECT]>): { project?: string } {
    const project = this.options.project ?? this.io.env("SVC_PROJECT");
    return project === undefined || project === "" ? {} : { project };
  }
}

function readCertificate(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch (cause) {
    throw new AppError("usage", `Cannot read "${path}": ${fileFault(cause)}`, { cause });
  }
}
