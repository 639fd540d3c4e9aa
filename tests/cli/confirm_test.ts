/**
 * The question before something that cannot be taken back.
 *
 * @module
 */

import { match, rejects, strictEqual as equal } from "node:assert/strict";
import { CommandContext } from "../../src/cli/command.ts";
import { confirm } from "../../src/cli/confirm.ts";
import { screen } from "../rigs/screen.ts";

/** A person who types these chunks, or nobody; gives what was shown. */
async function ask(
  typed: readonly string[] | undefined,
  options = { yes: false },
): Promise<string> {
  const { io, text } = screen(true, {
    inIsTerminal: typed !== undefined,
    stdin: () => ReadableStream.from((typed ?? []).map((part) => new TextEncoder().encode(part))),
  });
  await confirm("Delete it?", new CommandContext(io, options));
  return text.err;
}

Deno.test("yes is yes, in one piece or several, in any case", async () => {
  for (const typed of [["y\n"], ["Yes\r\n"], ["y", "e", "s", "\n"], [" YES \n", "no\n"], ["y"]]) {
    equal(await ask(typed), "Delete it? [y/N] ", typed.join("|"));
  }
});

Deno.test("everything else is no: another word, an empty line, the end of the input", async () => {
  for (const typed of [["n\n"], ["\n"], [], ["yesterday\n"], ["no\n", "yes\n"]]) {
    await rejects(ask(typed), { code: "refused", message: /^Nothing was changed: the answer/ });
  }
});

Deno.test("without a terminal a change is refused, unless --yes is given, which asks nothing", async () => {
  const refused = await ask(undefined).then(() => undefined, (error: Error) => error);
  match(refused?.message ?? "", /^Nothing was changed: there is no terminal to ask on, add --yes/);
  equal(await ask(undefined, { yes: true }), "");
  equal(await ask(["n\n"], { yes: true }), "");
});
