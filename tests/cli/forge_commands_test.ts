/**
 * The commands of each forge: the same ones with the same options, each in the words of its forge.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, doesNotMatch } from "node:assert/strict";
import { FORGE_WORDS, type ForgeName, FORGES } from "../../src/base/forge_names.ts";
import { LISTED } from "../../src/cli/commands/commands.ts";

/** The commands of a forge, by their words without those of the forge. */
async function commandsOf(forge: ForgeName) {
  const own = LISTED.filter(({ words }) => words.startsWith(`${forge} `));
  const { pullCommand } = FORGE_WORDS[forge];
  return new Map(
    await Promise.all(own.map(async ({ words, summary, served, load }) => {
      const [, ...rest] = words.split(" ");
      const name = rest.map((word) => word === pullCommand ? "pull" : word).join(" ");
      return [name, { summary, served, command: (await load()).command }] as const;
    })),
  );
}

Deno.test("each forge has the same commands, and GitHub alone has check runs", async () => {
  const [github, gitlab] = await Promise.all(FORGES.map(commandsOf));
  const shape = (all: typeof github, but: readonly string[] = []) =>
    [...all ?? []].filter(([name]) => !but.includes(name)).map(([name, { served, command }]) => ({
      name,
      served,
      arguments: command.arguments,
      flags: command.options?.map(({ flags }) => flags),
      examples: command.examples.length,
    }));
  deepEqual(shape(gitlab), shape(github, ["check"]));
  deepEqual([gitlab?.has("check"), github?.has("check"), gitlab?.size], [false, true, 11]);
});

Deno.test("no command speaks of another forge than its own", async () => {
  const strange = {
    github: /gitlab|merge request|\bmr\b/i,
    gitlab: /github|pull request|\bpr\b/i,
  };
  for (const forge of FORGES) {
    for (const [name, { summary, command }] of await commandsOf(forge)) {
      const { help, options = [], examples } = command;
      const text = [summary, help, ...options.map((option) => option.help), ...examples];
      doesNotMatch(text.join("\n"), strange[forge], `${forge} ${name}`);
    }
  }
});
