/**
 * What a command of `svc` is. Each is one file, named by its words, that exports one of these.
 *
 * @module
 */

import type { Client } from "../api/client.ts";
import { type DataDir, locateDataDir } from "../base/data_dir.ts";
import { findDurationSecs, MAX_DURATION } from "../base/duration.ts";
import { AppError } from "../base/errors.ts";
import { fileFault } from "../base/file_fault.ts";
import type { RecordName } from "../resources/record_names.ts";
import type { Io } from "./io.ts";

/**
 * What completes a value in a shell: a list of words; a file; names or ids of a kind or a type of
 * record, under its singular; the `name` of what the argument before it names the kind of; a `key`
 * of the SecretStore, or a `step` of the task, that an argument or option before it names.
 */
export type Completed = readonly string[] | "file" | "key" | "name" | "step" | CompletedName;

type CompletedName =
  | RecordName
  | "connection"
  | "notification"
  | "project"
  | "secretstore"
  | "trigger"
  | "workflow";

/** One option: flags as they are shown (`-o, --output <format>`), and what it is for. */
export interface OptionDefinition {
  /** Flags and placeholder; `<x>` takes a value, `<x...>` several, none makes it a switch. */
  readonly flags: string;
  /** One line of help. */
  readonly help: string;
  /** Closed list of values. */
  readonly choices?: readonly string[];
  /** What completes its value, where neither `choices` nor a placeholder such as `<file>` says it. */
  readonly complete?: Completed;
  /** Value when it is not given. */
  readonly fallback?: string;
}

/** One positional argument: `<name>`, `[name]` or `[name...]`. */
export interface ArgumentDefinition {
  /** Name in brackets that say whether it may be left out or repeated. */
  readonly name: string;
  /** One line of help. */
  readonly help: string;
  /** What completes it, where no name such as `<file>` says it. */
  readonly complete?: Completed;
}

/** One command. */
export interface Command {
  /** One sentence or two for its own help. */
  readonly help: string;
  /** Positional arguments in order. */
  readonly arguments?: readonly ArgumentDefinition[];
  /** Options in the order of the help. */
  readonly options?: readonly OptionDefinition[];
  /** Complete command lines that work, with what they do where it is not plain. */
  readonly examples: readonly string[];
  /** Carries it out; gives the exit code, 0 when nothing is given. */
  readonly run: (context: CommandContext, program: Program) => Promise<number | void>;
}

/**
 * The program that runs a command. A command that is about others gets them here: the registry loads
 * every command, so none can import it.
 */
export interface Program {
  /** Every command, in the order of the help. */
  readonly commands: readonly CommandEntry[];
  /** Runs a command line; gives the exit code. */
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
  /** Loads the command. */
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
export const DATA_DIR: OptionDefinition = {
  flags: "--data-dir <dir>",
  help: "data directory (default: $SVC_DATA_DIR, else ~/.svc)",
};

/** Options of every command that asks a daemon. */
export const CONNECTION: readonly OptionDefinition[] = [
  DATA_DIR,
  {
    flags: "--server <url>",
    help:
      "daemon on another machine, https://HOST:PORT (default: $SVC_SERVER); its token in $SVC_TOKEN",
  },
  {
    flags: "--ca-file <file>",
    help: "CA certificate that the server is verified with (default: $SVC_CA_FILE)",
  },
];

/** `-p/--project`. */
export const PROJECT: OptionDefinition = {
  flags: "-p, --project <name>",
  help: 'project (default: $SVC_PROJECT, else "default")',
  complete: "project",
};

/** `-o` of commands that show things. */
export const OUTPUT: OptionDefinition = {
  flags: "-o, --output <format>",
  help: "how to print",
  choices: ["table", "wide", "json", "yaml", "name"],
  fallback: "table",
};

/** `-o` of commands that report what they did. */
export const OUTPUT_TEXT_JSON: OptionDefinition = {
  flags: "-o, --output <format>",
  help: "how to print",
  choices: ["text", "json"],
  fallback: "text",
};

/** Largest number an option takes where it names no other. */
const MOST = 1_000_000_000;

/** What a command line came to. */
export interface ParsedArguments {
  /** Positional arguments; a repeated one is several texts. */
  readonly positional: readonly (string | readonly string[] | undefined)[];
  /** Options by name in camelCase; switches are `true`. */
  readonly options: Readonly<Record<string, unknown>>;
}

/** What a command works with. */
export class CommandContext {
  /** Terminal, environment, standard streams. */
  readonly io: Io;
  readonly #parsed: ParsedArguments;

  /** A context for one run. */
  constructor(io: Io, parsed: ParsedArguments) {
    this.io = io;
    this.#parsed = parsed;
  }

  /** The same command line with these options in place of its own of the same name. */
  withOptions(options: ParsedArguments["options"]): CommandContext {
    const { positional } = this.#parsed;
    return new CommandContext(this.io, {
      positional,
      options: Object.assign({}, this.#parsed.options, options),
    });
  }

  /** The positional argument at `index`; empty when it was left out. */
  argument(index: number): string {
    const value = this.#parsed.positional[index];
    return typeof value === "string" ? value : "";
  }

  /** The values of the repeated positional argument at `index`. */
  arguments(index: number): readonly string[] {
    const value = this.#parsed.positional[index];
    return typeof value === "string" ? [value] : value ?? [];
  }

  /** The value of an option, if it was given or has a fallback. */
  option(name: string): string | undefined {
    const value = this.#parsed.options[name];
    return typeof value === "string" ? value : undefined;
  }

  /** The values of a repeated option. */
  list(name: string): readonly string[] {
    const value = this.#parsed.options[name];
    return Array.isArray(value) ? value.map(String) : typeof value === "string" ? [value] : [];
  }

  /** Whether a switch was given. */
  flag(name: string): boolean {
    return this.#parsed.options[name] === true;
  }

  /**
   * A whole number of at least `least`, and at most `most`.
   *
   * @throws {AppError} `usage` when the option holds anything else.
   */
  count(name: string, least: number, most = MOST): number | undefined {
    const text = this.option(name);
    if (text === undefined) return undefined;
    const value = /^[0-9]{1,15}$/.test(text) ? Number(text) : NaN;
    if (value >= least && value <= most) return value;
    const range = `from ${least} to ${most}`;
    throw new AppError("usage", `--${dashed(name)} takes a whole number ${range}, not "${text}"`);
  }

  /**
   * A span of time in seconds.
   *
   * @throws {AppError} `usage` when the option holds anything else.
   */
  duration(name: string): number | undefined {
    const text = this.option(name);
    if (text === undefined) return undefined;
    const secs = findDurationSecs(text);
    if (secs !== undefined) return secs;
    throw new AppError(
      "usage",
      `--${dashed(name)} takes a duration such as 30m, 1h or 7d, ${MAX_DURATION} at most, ` +
        `not "${text}"`,
    );
  }

  dir(): DataDir {
    return locateDataDir({ flag: this.option("dataDir"), env: this.io.env });
  }

  /** A client of the daemon. */
  client(): Client {
    const token = this.#token();
    const url = this.option("server") || this.io.env("SVC_SERVER");
    if (!url) return this.localClient();
    if (!/^https:\/\/[^\s/]+\/?$/.test(url)) {
      throw new AppError("usage", `--server takes https://HOST:PORT, not "${url}"`);
    }
    if (token === undefined) {
      throw new AppError(
        "usage",
        '--server needs a token: set SVC_TOKEN ("svc token create" makes one)',
      );
    }
    const caFile = this.option("caFile") || this.io.env("SVC_CA_FILE");
    const tls = caFile ? { caCert: () => readCertificate(caFile) } : {};
    return this.io.connect({ url, ...tls }, token);
  }

  /** A client of the daemon on this machine, whatever other one is named. */
  localClient(): Client {
    const dataDir = this.dir();
    return this.io.connect({ socket: dataDir.socket, dataDir }, this.#token());
  }

  #token(): string | undefined {
    return this.io.env("SVC_TOKEN") || this.io.env("SVC_RUN_TOKEN") || undefined;
  }

  /** `{project}` when one was named, to be spread into a request. */
  project(): { project?: string } {
    const project = this.option("project") ?? this.io.env("SVC_PROJECT");
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

function dashed(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
