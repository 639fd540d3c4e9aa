/**
 * What svc says of an Agent when it is applied: nothing of those in packages.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok } from "node:assert/strict";
import { KindLookup } from "../../src/resources/kind_lookup.ts";
import { readDocument } from "../../src/resources/read.ts";
import { AGENT_PACKAGES } from "../rigs/real_agents.ts";

function findingsOf(spec: object) {
  const document = { kind: "Agent", metadata: { name: "agent" }, spec };
  return readDocument(document, { kinds: new KindLookup([]) }).findings;
}

for (const { name, manifest } of AGENT_PACKAGES) {
  Deno.test(`the Agent of the package ${name} is taken without a warning`, () => {
    deepEqual(findingsOf(manifest.spec), []);
  });
}

Deno.test("an Agent without a sandbox is warned of, and taken", () => {
  const [warning, ...more] = findingsOf({ command: "cat", timeout: "30m" });
  deepEqual([warning?.level, more], ["warning", []]);
  ok(/runs in a sandbox.*sandbox: none$/.test(warning?.message ?? ""), warning?.message);
});

/** What an Agent says that chose its walls. */
const HELD = { sandbox: "none" };

Deno.test("an Agent without a timeout is warned of, and taken", () => {
  const [warning, ...more] = findingsOf({ command: "cat", ...HELD });
  deepEqual([warning?.level, more], ["warning", []]);
  ok(/no timeout.*step-timeout.*timeout: 30m/.test(warning?.message ?? ""), warning?.message);
});

const SECRET = { fromSecret: { store: "keys", key: "anthropic" } };
const KEYS: readonly [command: string, env: object, pack: string | undefined][] = [
  ["claude --print", { ANTHROPIC_API_KEY: SECRET }, "claude-code"],
  ["exec /opt/bin/gemini", { GEMINI_API_KEY: SECRET }, "gemini-cli"],
  ["claude --print", { ANTHROPIC_API_KEY: "placeholder", DEPLOY_TOKEN: SECRET }, undefined],
  ["./agent.sh", { ANTHROPIC_API_KEY: SECRET }, undefined],
];

for (const [command, env, pack] of KEYS) {
  const names = Object.keys(env).join(" and ");
  const verdict = pack === undefined ? "taken" : `warned of: ${pack} does without`;
  Deno.test(`an Agent with "${command}" and ${names} is ${verdict}`, () => {
    const found = findingsOf({ command, env, timeout: "30m", ...HELD });
    const told = pack === undefined ? [] : [["warning", ["spec", "env", ...Object.keys(env)]]];
    deepEqual(found.map(({ level, path }) => [level, path]), told);
    ok(pack === undefined || found[0]?.message.endsWith(`svc integration show ${pack}`));
  });
}

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
    const found = findingsOf({ command, output, timeout: "30m", ...HELD });
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

const RESUMES: readonly [command: string, resume: object, message: RegExp | undefined][] = [
  ["a $SVC_SESSION_FLAGS", { new: "--id $SVC_SESSION", again: "--resume $SVC_SESSION" }, undefined],
  ["a ${SVC_SESSION_FLAGS}", { again: "resume $SVC_SESSION" }, undefined],
  ["a", { again: "--resume $SVC_SESSION" }, /does not name "\$SVC_SESSION_FLAGS"/],
  ["a $SVC_SESSION_FLAGS", { again: "--continue" }, /have to name it: \$SVC_SESSION/],
  ["a $SVC_SESSION_FLAGS", { again: "$SVC_SESSION $HOME" }, /Only \$SVC_SESSION is filled in/],
  ["a $SVC_SESSION_FLAGS", { again: "$SVC_SESSION; id" }, /options in plain words/],
  ["a $SVC_SESSION_FLAGS", { again: "$SVC_SESSION *" }, /options in plain words/],
];

for (const [command, resume, message] of RESUMES) {
  Deno.test(`an Agent with ${command} and ${JSON.stringify(resume)}`, () => {
    const said = findingsOf({ command, resume, timeout: "30m", ...HELD }).map((one) => one.message);
    if (message === undefined) deepEqual(said, []);
    else ok(message.test(said.join()), said.join());
  });
}
