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

const OUTPUTS: readonly [command: string, output: string, option: string | undefined][] = [
  ["claude -p --verbose --output-format stream-json", "claude", undefined],
  ["claude --print", "claude", "--output-format stream-json"],
  ["exec /opt/bin/claude --print --output-format=json", "claude", "--output-format stream-json"],
  ["codex exec --json -", "codex", undefined],
  ["codex exec -", "codex", "--json"],
  ["codex exec -", "text", undefined],
  ["opencode run --format json", "opencode", undefined],
  ["opencode run", "opencode", "--format json"],
  ["./agent.sh", "gemini", undefined],
  ["amp -x", "claude", "--stream-json"],
];

for (const [command, output, option] of OUTPUTS) {
  const verdict = option === undefined ? "taken" : `warned of: it lacks ${option}`;
  Deno.test(`an Agent with "${command}" and output: ${output} is ${verdict}`, () => {
    const found = findingsOf({ command, output, timeout: "30m" });
    deepEqual(found.map(({ level }) => level), option === undefined ? [] : ["warning"]);
    ok(option === undefined || found[0]?.message.endsWith(`only with ${option}`));
  });
}

Deno.test("an output that no adapter reads is refused", () => {
  for (const output of ["qwen", "", "__proto__", "constructor", 5, null]) {
    const [error] = findingsOf({ command: "cat", output, timeout: "30m" });
    deepEqual([error?.level, error?.path], ["error", ["spec", "output"]]);
  }
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
