/**
 * `svc tool secret-rotate`.
 *
 * @module
 */

import { keyUseText } from "../../api/key_use.ts";
import { systemClock } from "../../base/clock.ts";
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
import { readFile, withoutLastLineBreak } from "../read_file.ts";

const OPTIONS = [
  { flags: "--value <text>", help: "the new value; visible to other users, prefer the others" },
  { flags: "--value-env <name>", help: "environment variable that holds it" },
  {
    flags: "--value-file <file>",
    help: "file that holds it, its last line break left out; - for standard input",
  },
  { flags: "--create", help: "create the key, and the store, if it does not exist" },
  { flags: "--remove <key>", help: "remove this key instead of setting one", complete: "key" },
  { flags: "--force", help: "with --remove: even the only key, or one that is named elsewhere" },
  PROJECT,
  ...CONNECTION,
  OUTPUT_TEXT_JSON,
] as const satisfies readonly OptionDefinition[];

export const command: Command = defineCommand({
  help: "Sets one key of a SecretStore, in one transaction; the next request uses the new " +
    "value. To rotate without a gap, add the new value under a second key, change the " +
    "platform, then remove the old key with --remove: svc tries every value of the store.",
  arguments: [
    { name: "<store>", help: "name of the SecretStore", complete: "secretstore" },
    { name: "[key]", help: "key in it, to be set", complete: "key" },
  ],
  options: OPTIONS,
  examples: [
    "svc tool secret-rotate github webhook_secret --value-file new-secret.txt",
    "openssl rand -hex 32 | svc tool secret-rotate github next --value-file - --create",
    "svc tool secret-rotate github --remove webhook_secret",
  ],
  async run(context) {
    const removed = context.options.remove;
    if (removed !== undefined) return await remove(removed, context);
    if (context.argument(1) === "") {
      throw new AppError(
        "usage",
        "Name the key: svc tool secret-rotate STORE KEY --value-file FILE",
      );
    }
    if (context.options.force) throw new AppError("usage", "--force requires --remove");
    using client = context.client();
    const { store, key, created } = await client.call("secret.rotate", {
      store: context.argument(0),
      key: context.argument(1),
      value: await readValue(context),
      ...context.project(),
      create: context.options.create,
    });
    if (context.options.output === "json") {
      return context.io.out(jsonText({ store, key, created }));
    }
    context.io.out(`secretstore/${store} key ${key} ${created ? "created" : "rotated"}\n`);
  },
});

async function remove(key: string, context: Context<typeof OPTIONS>): Promise<void> {
  const { value, valueEnv, valueFile } = context.options;
  const given = [value, valueEnv, valueFile].some((one) => one !== undefined);
  if (context.argument(1) !== "" || given || context.options.create) {
    throw new AppError("usage", "--remove takes the place of KEY, its value and --create");
  }
  const store = context.argument(0);
  using client = context.client();
  const force = context.options.force;
  const removed = await client.call("secret.remove", { store, key, ...context.project(), force });
  for (const use of removed.uses) context.io.err(`warning: it is named by ${use}\n`);
  if (context.options.output === "json") {
    return context.io.out(jsonText(removed));
  }
  const matched = keyUseText(removed, systemClock.now());
  context.io.out(`secretstore/${store} key ${key} removed (${matched})\n`);
}

async function readValue(context: Context<typeof OPTIONS>): Promise<string> {
  const [text, variable, file] = [
    context.options.value,
    context.options.valueEnv,
    context.options.valueFile,
  ];
  if ([text, variable, file].filter((given) => given !== undefined).length !== 1) {
    throw new AppError("usage", "Give the new value once: --value, --value-env or --value-file");
  }
  if (text !== undefined && text !== "-") return text;
  if (variable !== undefined) {
    const value = context.io.env(variable);
    if (value === undefined) {
      throw new AppError("usage", `The environment variable ${variable} is not set`);
    }
    return value;
  }
  const bytes = await readFile(text ?? file ?? "-", context.io); // `--value -` is standard input
  return withoutLastLineBreak(new TextDecoder().decode(bytes));
}
