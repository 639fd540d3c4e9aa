/**
 * `--header "Name: value"` and `--event`, of every command that makes up a request or an event.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import { capitalized } from "../base/sentence.ts";
import type { Context } from "./command.ts";
import { type OptionDefinition } from "./option.ts";
import type { Io } from "./io.ts";

/** The option for headers; it may be repeated. */
export const HEADER = {
  flags: "--header <header...>",
  help: 'a header, "Name: value"; may be repeated',
} as const satisfies OptionDefinition;

/** The key that commands sign with where none is named. */
export const LIKELIEST_KEY = "the key that matched last, else the newest";

/** The option `--event` of commands that make a request. */
export const EVENT = {
  flags: "--event <name>",
  help: "type of the event, where the platform names it in a header (X-GitHub-Event: push)",
} as const satisfies OptionDefinition;

/**
 * The headers that were given, by their names as written.
 *
 * @throws {AppError} `usage` for one that is not `Name: value`.
 */
export function readHeaders(context: Context<[typeof HEADER]>): Record<string, string> {
  return Object.fromEntries(
    context.options.header.map((text) => {
      const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*:\s*([\t\x20-\x7e]*)$/.exec(text) ??
        [];
      if (name !== undefined && value !== undefined) return [name, value.trim()];
      throw new AppError("usage", `--header takes "Name: value", not "${text}"`);
    }),
  );
}

/** Prints which headers a condition reads that the event lacked, and the flag that adds them. */
export function hintAtHeaders(missing: readonly string[], io: Io): void {
  for (const name of missing) {
    const flag = `--header "${headerTitle(name)}: VALUE"`;
    io.err(`The condition reads the header ${name}, which the request lacks: add ${flag}\n`);
  }
}

/** A name of a header as people write it: `x-github-event` becomes `X-GitHub-Event`. */
function headerTitle(name: string): string {
  return name.split("-").map((part) => part === "github" ? "GitHub" : capitalized(part)).join("-");
}
