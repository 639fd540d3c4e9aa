/**
 * `--set-secret` of `svc integration install`: secrets by key, read from where other
 * users cannot see them.
 *
 * @module
 */

import { findText } from "../base/bytes.ts";
import { AppError } from "../base/errors.ts";
import type { CommandContext, Context } from "./command.ts";
import { type OptionDefinition } from "./option.ts";
import { readFile, withoutLastLineBreak } from "./read_file.ts";

/** The option for secrets by key; it may be repeated. */
export const SET_SECRET = {
  flags: "--set-secret <key=value...>",
  help: "a secret: KEY=- from standard input (typed unseen on a terminal), KEY=@FILE from a " +
    "file, or KEY=VALUE, which other users can see; a last line break is left out",
} as const satisfies OptionDefinition;

/**
 * The values given for some of `keys`, by key.
 *
 * @throws {AppError} `usage`; `invalid` when a value cannot be read; `refused` when its entry was
 * broken off.
 */
export async function readSetSecrets(
  keys: readonly string[],
  context: Context<[typeof SET_SECRET]>,
): Promise<ReadonlyMap<string, string>> {
  const secrets = new Map<string, string>();
  let piped = false;
  for (const text of context.options.setSecret) {
    const [, key = "", source = ""] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
    if (!keys.includes(key) || secrets.has(key)) {
      // The text may contain a secret, so it is not repeated.
      throw new AppError(
        "usage",
        `--set-secret takes KEY=-, KEY=@FILE or KEY=VALUE, each KEY once; the keys are ${
          keys.join(", ")
        }`,
      );
    }
    if (source === "-" && !context.io.inIsTerminal) {
      if (piped) throw new AppError("usage", "Only one secret can come from standard input");
      piped = true;
    }
    secrets.set(key, await readSecret(key, source, context));
  }
  return secrets;
}

async function readSecret(key: string, source: string, { io }: CommandContext): Promise<string> {
  if (source === "-" && io.inIsTerminal) {
    const typed = io.hiddenLine(`${key} (not shown): `);
    if (typed !== undefined) return typed;
    throw new AppError("refused", "Nothing was installed: the secret was not entered");
  }
  if (source !== "-" && !source.startsWith("@")) return source;
  const text = findText(await readFile(source.replace(/^@/, ""), io));
  if (text === undefined) throw new AppError("invalid", `The secret "${key}" is not UTF-8 text`);
  return withoutLastLineBreak(text);
}
