/**
 * `svc secret set`.
 *
 * @module
 */

import { findText } from "../../base/bytes.ts";
import { AppError } from "../../base/errors.ts";
import {
  type Command,
  CONNECTION,
  type Context,
  defineCommand,
  OUTPUT_TEXT_JSON,
  PROJECT,
} from "../command.ts";
import type { OptionDefinition } from "../option.ts";
import { jsonText } from "../json_text.ts";
import { readInput, withoutLastLineBreak } from "../read_file.ts";

const OPTIONS = [
  { flags: "--exact", help: "keep the line break at the end of standard input" },
  PROJECT,
  ...CONNECTION,
  OUTPUT_TEXT_JSON,
] as const satisfies readonly OptionDefinition[];

export const command: Command = defineCommand({
  help: "Sets one key of a SecretStore to a value that you type twice, hidden, or pass on " +
    "standard input; the next request uses it. A key or store that does not exist is created.",
  arguments: [
    { name: "<store>", help: "name of the SecretStore", complete: "secretstore" },
    { name: "<key>", help: "key in it", complete: "key" },
  ],
  options: OPTIONS,
  examples: [
    "svc secret set github webhook_secret",
    "openssl rand -hex 32 | svc secret set github next",
  ],
  async run(context) {
    const [store, key] = [context.argument(0), context.argument(1)];
    const value = context.io.inIsTerminal
      ? readTyped(`${store} ${key}`, context)
      : await readPiped(context);
    using client = context.client();
    const input = { store, key, value, ...context.project(), create: true };
    const set = await client.call("secret.rotate", input);
    if (context.options.output === "json") {
      return context.io.out(jsonText(set));
    }
    const where = set.store_created ? " in a new SecretStore" : "";
    context.io.out(
      `secretstore/${store} key ${key} ${set.created ? "created" : "changed"}${where}\n`,
    );
    if (set.uses > 0) return;
    context.io.err(`note: ${unusedText(`secretstore/${store}`, set.readable_by)}\n`);
  },
});

/** Most readers that are named. */
const NAMED = 3;

/** The note on a store that no field names, but that plugins may read. */
function unusedText(store: string, readers: readonly string[]): string {
  if (readers.length === 0) return `nothing refers to ${store} yet`;
  const more = readers.length > NAMED ? ` and ${readers.length - NAMED} more` : "";
  return `no field names ${store}, but plugins of ${readers.slice(0, NAMED).join(", ")}${more} ` +
    "may read it";
}

function readTyped(what: string, { io }: Context<typeof OPTIONS>): string {
  const typed = io.hiddenLine(`${what} (not shown): `);
  const again = typed === undefined ? undefined : io.hiddenLine("once more: ");
  if (typed === undefined || again === undefined) {
    throw new AppError("refused", "Nothing was changed: the secret was not entered");
  }
  if (typed !== again) {
    throw new AppError("refused", "Nothing was changed: the two values differ");
  }
  return typed;
}

async function readPiped(context: Context<typeof OPTIONS>): Promise<string> {
  const text = findText(await readInput(context.io));
  if (text === undefined) throw new AppError("invalid", "The secret is not UTF-8 text");
  if (context.options.exact) return text;
  const value = withoutLastLineBreak(text);
  if (value !== text) {
    context.io.err("note: the line break at the end is left out; --exact keeps it\n");
  }
  return value;
}
