/**
 * The commands for agents in docs/workflows.md: each works as an Agent as it is, gets its prompt on
 * standard input, and asks no person.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok } from "node:assert/strict";
import { join } from "node:path";
import { KindLookup } from "../../src/resources/kind_lookup.ts";
import { readDocument } from "../../src/resources/read.ts";
import { ROOT } from "../helpers/program.ts";

const PAGE = Deno.readTextFileSync(join(ROOT, "docs/workflows.md"));

const COMMANDS = new Map(
  [...PAGE.matchAll(/^\| (Claude Code|Codex|Gemini|OpenCode) \| `([^`]+)` \|/gm)]
    .map(([, agent = "", command = ""]) => [agent, command]),
);

function findingsOf(spec: object) {
  const document = { kind: "Agent", metadata: { name: "agent" }, spec };
  return readDocument(document, { kinds: new KindLookup([]) }).findings;
}

for (const [agent, command] of COMMANDS) {
  Deno.test(`docs/workflows.md: ${agent} as ${command} is an Agent without a warning`, () => {
    deepEqual(findingsOf({ command, timeout: "30m" }), []);
    ok(!/\$|SVC_PROMPT/.test(command), "the prompt comes on standard input, byte for byte");
  });
}

Deno.test("an Agent without a timeout is warned of, and taken", () => {
  const [warning, ...more] = findingsOf({ command: "cat" });
  deepEqual([warning?.level, more], ["warning", []]);
  ok(/no timeout.*step-timeout.*timeout: 30m/.test(warning?.message ?? ""), warning?.message);
});

/** Without these the agent ends at once, or changes nothing, where it can ask no person. */
const NEEDED: readonly [agent: string, options: readonly string[]][] = [
  ["Claude Code", ["--print"]],
  ["Codex", ["exec", "--skip-git-repo-check", "--sandbox workspace-write", "-"]],
  ["Gemini", ["--skip-trust"]],
  ["OpenCode", ["run"]],
];

Deno.test("docs/workflows.md gives every agent the options it needs where it can ask no person", () => {
  for (const [agent, options] of NEEDED) {
    const command = ` ${COMMANDS.get(agent)} `;
    for (const option of options) ok(command.includes(` ${option} `), `${agent}: ${option}`);
  }
});
