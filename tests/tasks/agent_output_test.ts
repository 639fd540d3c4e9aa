/**
 * Steps whose agent prints events: what their log, their outputs and their record have, with real
 * processes.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { systemClock } from "../../src/base/clock.ts";
import { AgentOutput } from "../../src/tasks/step/agent_output.ts";
import { readLog } from "../helpers/read_log.ts";
import { type RunRig, runRig, type TaskParts } from "../rigs/run_rig.ts";

function test(name: string, body: (rig: RunRig) => Promise<void>, secrets = {}): void {
  Deno.test(name, async () => {
    await using rig = await runRig(secrets);
    await body(rig);
  });
}

/** An Agent that runs these shell lines; what it prints is read as events of `output`. */
function agent(output: string, command: string): TaskParts {
  const spec = { command, output };
  return { more: JSON.stringify({ kind: "Agent", metadata: { name: "coder" }, spec }) };
}

/** A shell line that prints these events. */
function print(...events: readonly unknown[]): string {
  const texts = events.map((one) => typeof one === "string" ? one : JSON.stringify(one));
  return `cat <<'EVENTS'\n${texts.join("\n")}\nEVENTS\n`;
}

const ONE_STEP = '{steps: [{id: a, agent: coder, prompt: "p"}]}';
const INIT = { type: "system", subtype: "init", session_id: "s-1" };
const SAYS = { type: "assistant", message: { content: [{ type: "text", text: "Hello\nyou" }] } };
const RESULT = { type: "result", is_error: false, result: "Done.", usage: { output_tokens: 5 } };

test("the log has lines for people, the events lie beside them, and facts are outputs", async (rig) => {
  const { state, task } = await rig.all(
    `{steps: [
      {id: a, agent: coder, prompt: "p"},
      {id: b, env: {R: "{{ steps.a.outputs.result }} by {{ steps.a.outputs.agent }}"},
       run: 'echo "$R"'}]}`,
    agent("claude", `${print(INIT, SAYS, "no event", RESULT)} echo warning >&2`),
  );
  equal(state, "succeeded");
  equal(await rig.printed(task.id, "a"), "Hello\nyou\nno event\n");
  equal(await rig.printed(task.id, "a", "err"), "warning\n");
  equal(await rig.printed(task.id, "b"), "Done. by coder\n");
  const raw = [INIT, SAYS, "no event", RESULT];
  equal(
    await rig.printed(task.id, "a", "raw"),
    raw.map((one) => `${typeof one === "string" ? one : JSON.stringify(one)}\n`).join(""),
  );
  deepEqual(task.steps[0]?.outputs, {
    agent: "coder",
    result: "Done.",
    session_id: "s-1",
    tokens_out: "5",
  });
});

test("what the agent writes to $SVC_OUTPUT takes precedence", async (rig) => {
  const { task } = await rig.all(
    '{steps: [{id: a, agent: coder, prompt: "p", stdout: session_id}]}',
    agent("claude", `echo result=mine >> "$SVC_OUTPUT"; ${print(INIT, RESULT)}`),
  );
  const { session_id: printed, ...rest } = task.steps[0]?.outputs ?? {};
  deepEqual(rest, { agent: "coder", result: "mine", tokens_out: "5" });
  equal(printed, `${JSON.stringify(INIT)}\n${JSON.stringify(RESULT)}`);
});

test("an agent without an adapter prints as it is, to the byte", async (rig) => {
  const { task } = await rig.all(ONE_STEP, agent("text", String.raw`printf '{"a":1}\n\r\nx'`));
  equal(await rig.printed(task.id, "a"), '{"a":1}\n\r\nx');
  equal(await rig.printed(task.id, "a", "raw"), "");
  deepEqual(task.steps[0]?.outputs, { agent: "coder" });
});

const LIMIT = { type: "turn.failed", error: { message: "You've hit your usage limit." } };

const ENDS: readonly {
  readonly what: string;
  readonly output: string;
  readonly command: string;
  readonly step?: Readonly<Record<string, unknown>>;
  readonly failure: string;
  readonly reason: string | RegExp;
}[] = [
  {
    what: "a limit",
    output: "codex",
    command: `${print(LIMIT)} exit 1`,
    failure: "limit",
    reason: "the agent reached its limit: You've hit your usage limit.",
  },
  {
    what: "an error that the exit code hides",
    output: "claude",
    command: print({ type: "result", subtype: "success", is_error: true, result: "It broke" }),
    failure: "error",
    reason: "the agent failed: It broke",
  },
  {
    what: "a success that the exit code denies",
    output: "claude",
    command: `${print(RESULT)} exit 3`,
    failure: "error",
    reason: "exit code 3",
  },
  {
    what: "a login that is missing, said by the exit code only",
    output: "gemini",
    command: "exit 41",
    failure: "auth",
    reason: "the agent is not logged in: exit code 41",
  },
  {
    what: "a program that is missing",
    output: "claude",
    command: "no-such-agent",
    failure: "error",
    reason: "exit code 127 (command not found)",
  },
  {
    what: "a signal",
    output: "codex",
    command: `${print(INIT)} kill -9 $$`,
    failure: "error",
    reason: /^killed by SIGKILL|^exit code 137/, // in a sandbox only the code is known
  },
  {
    what: "a signal behind the report of a limit",
    output: "codex",
    command: `${print(LIMIT)} kill -9 $$`,
    failure: "limit",
    reason: "the agent reached its limit: You've hit your usage limit.",
  },
  {
    what: "a timeout",
    output: "claude",
    command: `${print(INIT)} sleep 60`,
    step: { timeout: 1 },
    failure: "timeout",
    reason: "timed out after 1, the step's timeout",
  },
  {
    what: "a timeout of an agent that waits for its limit to end",
    output: "gemini",
    command: "echo 'Attempt 1 failed with status 429.' >&2; sleep 60",
    step: { timeout: 1 },
    failure: "limit",
    reason: /^the agent reached its limit: Attempt 1 failed with status 429\. \(timed out after 1/,
  },
];

for (const { what, output, command, step, failure, reason } of ENDS) {
  test(`a step fails with ${what}`, async (rig) => {
    const steps = [
      { id: "a", agent: "coder", prompt: "p", onLimit: "fail", continueOnError: true, ...step },
      { id: "b", when: `steps.a.failure == "${failure}"`, run: "echo seen" },
    ];
    const { task } = await rig.all(JSON.stringify({ steps }), agent(output, command));
    const [a] = task.steps;
    deepEqual([a?.state, a?.failure], ["failed", failure]);
    if (typeof reason === "string") equal(a?.reason.replace("1s", "1"), reason);
    else match(a?.reason.replace("1s", "1") ?? "", reason);
    equal(await rig.printed(task.id, "b"), "seen\n");
  });
}

test("a step that has not failed has no failure", async (rig) => {
  const { task } = await rig.all(`{steps: [
    {id: a, run: "exit 1", retry: {attempts: 2, backoffSecs: 0}, continueOnError: true},
    {id: b, run: "exit 1; ", retry: {attempts: 2, backoffSecs: 0}, when: "payload.n == 0"},
    {id: c, run: '[ $SVC_ATTEMPT = 2 ]', retry: {attempts: 2, backoffSecs: 0}},
    {id: d, run: 'echo "$F"', env: {F: "{{ steps.a.failure }}|{{ steps.b.failure }}|{{ steps.c.failure }}"}}]}`);
  deepEqual(task.steps.map(({ failure }) => failure), ["error", undefined, undefined, undefined]);
  equal(await rig.printed(task.id, "d"), "error||\n");
});

test("secrets are hidden in lines, in events, in outputs and in the reason", async (rig) => {
  const secret = 'swordfish"9';
  const event = { type: "result", is_error: true, result: `bad key ${secret}` };
  const { task } = await rig.all(
    ONE_STEP,
    agent("claude", print({ ...INIT, session_id: "swordfish-8" }, `plain ${secret}`, event)),
  );
  const { chunks } = await readLog(rig.host.logs.of(task.id), 0);
  const all = chunks.map(({ bytes }) => new TextDecoder().decode(bytes)).join("");
  const everything = all + JSON.stringify(task.steps);
  ok(!everything.includes("swordfish"), everything);
  equal(task.steps[0]?.reason, "the agent failed: bad key ***");
}, { key: 'swordfish"9', other: "swordfish-8" });

test("a result that is too long is cut, and the log says so", async (rig) => {
  const command = `printf '{"type":"result","result":"'; head -c 200000 /dev/zero | tr '\\0' x; ` +
    `printf '"}\\n'`;
  const { state, task } = await rig.all(ONE_STEP, agent("claude", command));
  equal(state, "succeeded");
  equal(task.steps[0]?.outputs?.["result"]?.length, 131_072);
  match(await rig.printed(task.id, "a", "svc"), /result of the agent is cut/);
});

Deno.test("an agent of plain text has lost its session if it failed and said nothing of its work", async () => {
  const agent = { name: "own", command: "own", promptDelivery: "stdin", env: {} } as const;
  const log = { write: () => Promise.resolve(), note: () => Promise.resolve() };
  const said = new AgentOutput(agent, log, systemClock);
  await said.write("err", new TextEncoder().encode("no such session\n"));
  deepEqual([0, 1, 127].map((code) => said.hasLostSession(code)), [false, true, false]);
  await said.write("out", new TextEncoder().encode("working\n"));
  equal(said.hasLostSession(1), false);
});
