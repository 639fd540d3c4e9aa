/**
 * Shared by the commands on Connections: reads tokens where no other user sees them, and shows the
 * steps of the daemon's work.
 *
 * @module
 */

import type { ConnectionLine } from "../api/connection_operations.ts";
import type { Input, Output, StreamName } from "../api/operations.ts";
import { findText } from "../base/bytes.ts";
import { defined } from "../base/defined.ts";
import { AppError } from "../base/errors.ts";
import type { CommandContext, CONNECTION, Context, PROJECT } from "./command.ts";
import { findSpec } from "./find_spec.ts";
import type { Io } from "./io.ts";
import type { OptionValues } from "./option.ts";
import { readFile, withoutLastLineBreak } from "./read_file.ts";

/** Names of the operations on Connections. */
type WorkName = Extract<StreamName, `connect.${string}` | `connection.${string}`>;

/** The result of an operation, in its last line. */
type ResultOf<Name extends WorkName> = Extract<
  Output<Name>,
  { readonly result: unknown }
>["result"];

/**
 * Runs an operation on a Connection; what the daemon has done so far goes to standard error.
 *
 * @throws {AppError} whatever the daemon refused it with.
 */
export async function doConnectionWork<Name extends WorkName>(
  name: Name,
  input: Input<Name>,
  context: Context<typeof CONNECTION>,
): Promise<ResultOf<Name>> {
  const { io } = context;
  using client = context.client();
  for await (const given of client.stream(name, input)) {
    const line = given as ConnectionLine<ResultOf<Name>>;
    if ("step" in line) io.err(`${line.step}\n`);
    else if ("note" in line) io.err(`note: ${line.note}\n`);
    else if ("result" in line) return line.result;
    else throw new AppError(line.refused.code, line.refused.message, line.refused);
  }
  throw new AppError("unreachable", "The daemon stopped before it was done: run the command again");
}

/** Where a token comes from. */
export interface TokenSource {
  /** Its name in the prompt. */
  readonly what: string;
  /** The option, such as `--token`. */
  readonly flag: string;
  /** Its value: `-`, `@FILE` or `env`; absent when it was not given. */
  readonly given: string | undefined;
  /** Variable that `env` reads. */
  readonly variable: string;
}

/**
 * A token from where other users do not see it: typed unseen, from standard input, a file or the
 * environment; `undefined` where the daemon has it already and no other was given.
 *
 * @throws {AppError} `usage` for a token on the command line, or if there is no terminal to type one;
 * `invalid` when it cannot be read; `refused` when its entry was broken off.
 */
export async function readNewToken(
  source: TokenSource,
  isKnown: boolean,
  io: Io,
): Promise<string | undefined> {
  return source.given === undefined && isKnown ? undefined : await readToken(source, io);
}

async function readToken(source: TokenSource, io: Io): Promise<string> {
  const { what, flag, given, variable } = source;
  const ways = `${flag} - (standard input), ${flag} @FILE or ${flag} env ($${variable})`;
  if (given === "env") {
    const value = io.env(variable) ?? "";
    if (value !== "") return value;
    throw new AppError("usage", `$${variable} is not set`);
  }
  if (given === "-" && !io.inIsTerminal || given?.startsWith("@") === true) {
    const text = findText(await readFile(given.replace(/^@/, ""), io));
    if (text === undefined) throw new AppError("invalid", `The ${what} is not UTF-8 text`);
    return withoutLastLineBreak(text);
  }
  if (given !== undefined && given !== "-") {
    // The value may be the token, so it is not repeated.
    throw new AppError("usage", `Other users see the command line: give the ${what} with ${ways}`);
  }
  if (!io.inIsTerminal) {
    throw new AppError("usage", `The ${what} is missing: give it with ${ways}`);
  }
  const typed = io.hiddenLine(`${what} (not shown): `);
  if (typed !== undefined && typed !== "") return typed;
  throw new AppError("refused", `Nothing was changed: the ${what} was not entered`);
}

/** The options of every `svc connect` that the command line gives. */
export interface ConnectOptions {
  readonly project?: string;
  readonly name?: string;
  readonly endpoint?: string;
  readonly api?: string;
}

/** The context of commands with these options. */
type ConnectContext = CommandContext<
  & OptionValues<[typeof PROJECT, ...typeof CONNECTION]>
  & { readonly [Name in "name" | "endpoint" | "api"]: string | undefined }
>;

/**
 * Reads these options.
 *
 * @throws {AppError} `usage` when the API is no URL.
 */
export function connectOptions(context: ConnectContext): ConnectOptions {
  const { name, endpoint, api } = context.options;
  return { ...context.project(), ...defined({ name, endpoint, api: urlOption("api", api) }) };
}

/** Whether there is a Connection of that name. */
export async function findConnection(name: string, context: ConnectContext): Promise<boolean> {
  using client = context.client();
  const at = { what: "connection", name, ...context.project() } as const;
  return await findSpec(at, client) !== undefined;
}

/**
 * A URL that was given, without a slash at its end.
 *
 * @throws {AppError} `usage` when it is none.
 */
export function urlOption(name: string, url: string | undefined): string | undefined {
  if (url === undefined || /^https?:\/\/[^\s/?#]+[^\s?#]*$/i.test(url)) {
    return url?.replace(/\/+$/, "");
  }
  throw new AppError("usage", `--${name} takes a URL such as https://HOST`);
}
