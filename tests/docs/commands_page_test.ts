/**
 * `docs/commands.md` says what the definitions of the commands say.
 *
 * @module
 */

import { ok, strictEqual as equal } from "node:assert/strict";
import { commandReference, PAGE } from "../../docs/command_reference.ts";
import { LISTED } from "../../src/cli/commands/commands.ts";

const TEXT = await commandReference();

Deno.test("docs/commands.md is made from the commands as they are: make docs", () => {
  equal(Deno.readTextFileSync(PAGE), TEXT);
});

Deno.test("docs/commands.md has every command with its options and examples", async () => {
  for (const { words, load } of LISTED) {
    const { command } = await load();
    const [, part = ""] = TEXT.split(`\n### svc ${words}\n`);
    const [own = ""] = part.split("\n### ");
    for (const { flags } of command.options ?? []) {
      const [long = ""] = /--[a-z-]+/.exec(flags) ?? [];
      ok(own.includes(long) || (long === "--output" && own.includes("`-o`")), `${words} ${long}`);
    }
    for (const example of command.examples) ok(own.includes(example), `${words}: ${example}`);
  }
});
