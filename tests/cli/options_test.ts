/**
 * What commands read of their options, and what they declare: a name that is misspelt reads as an
 * option that was not given, and nothing else would notice.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok } from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { COMMANDS } from "../../src/cli/commands/commands.ts";

const read = (path: string) =>
  Deno.readTextFileSync(fileURLToPath(new URL(`../../src/cli/${path}`, import.meta.url)));

/** Options that every context reads by itself, where the command declares them. */
const CONTEXT = read("command.ts");

/** Names that a text asks a context for. */
function namesRead(text: string): string[] {
  const calls = /\.(?:option|flag|list|count|duration)\(\s*"(\w+)"/g;
  return [...text.matchAll(calls)].map(([, name]) => name ?? "");
}

/** The name under which an option is read: `--dry-run` is `dryRun`, `--no-wait` is `wait`. */
function nameOf(flags: string): string {
  const [, long = ""] = /--([a-z][a-z-]*)/.exec(flags) ?? [];
  return long.replace(/^no-/, "").replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Files of the command line that the file of a command imports and that read options. */
function helpersOf(text: string): string[] {
  return [...text.matchAll(/from "\.(\.?)\/(\w+\.ts)"/g)]
    .map(([, above, file]) => above === "." ? `${file}` : `commands/${file}`)
    .filter((file) => file !== "command.ts" && namesRead(read(file)).length > 0);
}

/** File of a command; one that ended in `_test` would be taken for a test. */
function fileOf(words: string): string {
  return `commands/${words.replace(/ test$/, " try").replace(/[ -]/g, "_")}.ts`;
}

for (const { words, load } of COMMANDS) {
  Deno.test(`svc ${words}: options that are read are declared, and the other way round`, async () => {
    const { command } = await load();
    const text = read(fileOf(words));
    const declared = (command.options ?? []).map(({ flags }) => nameOf(flags));
    deepEqual(namesRead(text).filter((name) => !declared.includes(name)), [], "not declared");
    const sources = [text, CONTEXT, ...helpersOf(text).map(read)].join("\n");
    const unread = declared.filter((name) => !sources.includes(`"${name}"`));
    deepEqual(unread, [], "declared, and read by nothing");
  });
}

Deno.test("options that a helper reads are declared by a command that uses it", async () => {
  const declared = new Map<string, string[]>();
  for (const { words, load } of COMMANDS) {
    const { command } = await load();
    for (const helper of helpersOf(read(fileOf(words)))) {
      const names = (command.options ?? []).map(({ flags }) => nameOf(flags));
      declared.set(helper, [...declared.get(helper) ?? [], ...names]);
    }
  }
  ok(declared.size > 2);
  for (const [helper, names] of declared) {
    if (helper.startsWith("commands/")) continue; // a command is looked at by itself
    deepEqual(namesRead(read(helper)).filter((name) => !names.includes(name)), [], helper);
  }
});
