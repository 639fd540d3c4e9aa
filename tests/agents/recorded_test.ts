/**
 * What svc makes of runs of the real agents, as `tests/fixtures/agents` has recorded them.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { join } from "node:path";
import { type AdapterName, findAdapter } from "../../src/agents/adapters.ts";
import type { FailureKind } from "../../src/agents/agent_failure.ts";
import { AgentReader } from "../../src/agents/agent_reader.ts";
import { ROOT } from "../helpers/program.ts";

const FIXTURES = join(ROOT, "tests/fixtures/agents");

/** How each recorded run ended, by agent and file. */
const EXIT_CODES = new Map(
  [
    ...Deno.readTextFileSync(`${FIXTURES}/README.md`)
      .matchAll(/^\| ([a-z-]+) [\d.]+ \| (\w+) \| (\d+) \|/gm),
  ].map(([, agent, file, code]) => [`${agent}/${file}`, Number(code)]),
);

const ID = "00000000-0000-4000-8000-000000000001";

/** What is expected of one run. */
interface Run {
  readonly lines: readonly string[];
  readonly outputs: Readonly<Record<string, string>>;
  readonly failure?: readonly [kind: FailureKind, message: string];
  /** Whether it did not find the session that it was to go on with. */
  readonly hasLostSession?: true;
}

const DONE = { result: "All of it is done.", tokens_in: "1200", tokens_out: "34" };
const TWICE = { tokens_in: "2400", tokens_out: "68" };
const NO_TOKENS = { tokens_in: "0", tokens_out: "0" };
const NO_KEY = "API key not valid. Please pass a valid API key.";
const LIMIT = "You have reached your rate limit.";

const GEMINI_SAYS = [
  "The shell said: <untrusted_context>",
  "Output: from-the-shell",
  "Process Group PGID: 19788",
  "</untrusted_context>",
];
const QWEN_SAYS = [
  "The shell said: Command: echo from-the-shell",
  "Directory: (root)",
  "Output: from-the-shell",
  "Error: (none)",
  "Exit Code: 0",
  "Signal: 0",
  "Process Group PGID: 20355",
];
const CODEX_SAYS = [
  "The shell said: Script completed",
  "Wall time 0.1 seconds",
  "Output:",
  "from-the-shell",
];
const COPILOT_SAYS = [
  "The shell said: from-the-shell",
  "<shellId: 0 completed with exit code 0>",
];

const failed = (status: number, times: number) =>
  Array<string>(times).fill(`the model's API failed with ${status}`);
const reconnecting = (why: string) => [
  ...[1, 2, 3, 4, 5].map((n) => `Reconnecting... ${n}/5 (${why})`),
  why,
];

const CLAUDE_AUTH = `Failed to authenticate. API Error: 401 ${NO_KEY}`;
const CLAUDE_LIMIT = `API Error: Request rejected (429) · ${LIMIT}`;
const NO_SESSION = `No conversation found with session ID: ${ID}`;
const CODEX_AUTH =
  `unexpected status 401 Unauthorized: ${NO_KEY}, url: http://127.0.0.1:1/v1/responses`;
const CODEX_LIMIT = "exceeded retry limit, last status: 429 Too Many Requests";
const COPILOT_AUTH = "Authentication failed with provider at http://127.0.0.1:1/v1 (HTTP 401). " +
  "Check your COPILOT_PROVIDER_API_KEY, COPILOT_PROVIDER_API_KEY_COMMAND, or " +
  "COPILOT_PROVIDER_BEARER_TOKEN.";
const COPILOT_LIMIT =
  "Failed to get response from the AI model; retried 5 times (total retry wait " +
  `time: 5.52 seconds) Last error: 429 ${LIMIT}`;
const QWEN_AUTH = `[API Error: 401 ${NO_KEY}]`;
const QWEN_LIMIT = [
  `[API Error: 429 ${LIMIT}]`,
  "Possible quota limitations in place or slow response times detected. Please wait and try again " +
  "later.",
];
const GEMINI_AUTH =
  `[API Error: {"error":{"code":400,"message":"${NO_KEY}","status":"INVALID_ARGUMENT"}}]`;
const GEMINI_LIMIT =
  `[API Error: ${LIMIT}] Please wait and try again later. To increase your limits, ` +
  "request a quota increase through AI Studio, or switch to another /auth method";

const RUNS: Record<string, Run> = {
  "claude-code/ok": {
    lines: ["All of it is done."],
    outputs: { ...DONE, session_id: ID, cost_usd: "0.00685" },
  },
  "claude-code/tool": {
    lines: ["▸ Bash: echo from-the-shell", "The shell said: from-the-shell"],
    outputs: {
      result: "The shell said: from-the-shell",
      session_id: ID,
      ...TWICE,
      cost_usd: "0.0137",
    },
  },
  "claude-code/limit": {
    lines: [...failed(429, 4), CLAUDE_LIMIT],
    outputs: { session_id: ID, ...NO_TOKENS, cost_usd: "0" },
    failure: ["limit", CLAUDE_LIMIT],
  },
  "claude-code/auth": {
    lines: [...failed(401, 4), CLAUDE_AUTH],
    outputs: { session_id: ID, ...NO_TOKENS, cost_usd: "0" },
    failure: ["auth", CLAUDE_AUTH],
  },
  "claude-code/lost": {
    lines: [],
    outputs: { session_id: ID, ...NO_TOKENS, cost_usd: "0" },
    failure: ["error", NO_SESSION],
    hasLostSession: true,
  },
  "codex/ok": { lines: ["All of it is done."], outputs: { ...DONE, session_id: ID } },
  "codex/tool": {
    lines: ["▸ shell: echo from-the-shell", ...CODEX_SAYS],
    outputs: { result: CODEX_SAYS.join("\n"), session_id: ID, ...TWICE },
  },
  "codex/limit": {
    lines: reconnecting(CODEX_LIMIT),
    outputs: { session_id: ID },
    failure: ["limit", CODEX_LIMIT],
  },
  "codex/auth": {
    lines: reconnecting(CODEX_AUTH),
    outputs: { session_id: ID },
    failure: ["auth", CODEX_AUTH],
  },
  "gemini-cli/ok": { lines: ["All of it is done."], outputs: { ...DONE, session_id: ID } },
  "gemini-cli/tool": {
    lines: ["▸ run_shell_command: echo from-the-shell", ...GEMINI_SAYS],
    outputs: { result: GEMINI_SAYS.join("\n"), session_id: ID, ...TWICE },
  },
  "gemini-cli/limit": {
    lines: [],
    outputs: { session_id: ID, ...NO_TOKENS },
    failure: ["limit", GEMINI_LIMIT],
  },
  "gemini-cli/auth": {
    lines: [],
    outputs: { session_id: ID, ...NO_TOKENS },
    failure: ["auth", GEMINI_AUTH],
  },
  "opencode/ok": {
    lines: ["All of it is done."],
    outputs: { ...DONE, session_id: "ses_1", cost_usd: "0.00411" },
  },
  "opencode/tool": {
    lines: ["▸ bash: echo from-the-shell", "The shell said: from-the-shell"],
    outputs: {
      result: "The shell said: from-the-shell",
      session_id: "ses_1",
      ...TWICE,
      cost_usd: "0.00822",
    },
  },
  "opencode/limit": {
    lines: [LIMIT],
    outputs: { session_id: "ses_1" },
    failure: ["limit", LIMIT],
  },
  "opencode/auth": {
    lines: [NO_KEY],
    outputs: { session_id: "ses_1" },
    failure: ["auth", NO_KEY],
  },
  "copilot/ok": {
    lines: ["All of it is done."],
    outputs: { result: "All of it is done.", session_id: "00000000-0000-4000-8000-000000000025" },
  },
  "copilot/tool": {
    lines: ["▸ bash: echo from-the-shell", ...COPILOT_SAYS],
    outputs: {
      result: COPILOT_SAYS.join("\n"),
      session_id: "00000000-0000-4000-8000-000000000069",
    },
  },
  "copilot/limit": {
    lines: [...failed(429, 6), COPILOT_LIMIT],
    outputs: { session_id: "00000000-0000-4000-8000-000000000038" },
    failure: ["limit", COPILOT_LIMIT],
  },
  "copilot/auth": {
    lines: [...failed(401, 3), COPILOT_AUTH],
    outputs: { session_id: "00000000-0000-4000-8000-000000000028" },
    failure: ["auth", COPILOT_AUTH],
  },
  "qwen-code/ok": {
    lines: ["All of it is done."],
    outputs: { result: "All of it is done.", session_id: ID, ...TWICE },
  },
  "qwen-code/tool": {
    lines: ["▸ run_shell_command: echo from-the-shell", ...QWEN_SAYS],
    outputs: { result: QWEN_SAYS.join("\n"), session_id: ID, ...TWICE },
  },
  "qwen-code/limit": {
    lines: QWEN_LIMIT,
    outputs: { session_id: ID, ...NO_TOKENS },
    failure: ["limit", QWEN_LIMIT.join(" ")],
  },
  "qwen-code/auth": {
    lines: [QWEN_AUTH],
    outputs: { session_id: ID, ...NO_TOKENS },
    failure: ["auth", QWEN_AUTH],
  },
};

const LOST = ["codex", "copilot", "gemini-cli", "opencode", "qwen-code"];
for (const agent of LOST) RUNS[`${agent}/lost`] = { lines: [], outputs: {}, hasLostSession: true };

const ADAPTERS: Readonly<Record<string, AdapterName>> = {
  "claude-code": "claude",
  "qwen-code": "claude",
  "gemini-cli": "gemini",
  "codex": "codex",
  "copilot": "copilot",
  "opencode": "opencode",
};

/** Reads a recorded run, its output cut into chunks of `size` bytes. */
function read(name: string, size: number, exitCode: number) {
  const adapter = ADAPTERS[name.split("/")[0] ?? ""];
  if (adapter === undefined) throw new Error(`no adapter for ${name}`);
  const reader = new AgentReader(findAdapter(adapter), () => Date.UTC(2026, 10, 26));
  const bytes = Deno.readFileSync(`${FIXTURES}/${name}.jsonl`);
  let shown = "";
  for (let at = 0; at < bytes.length; at += size) {
    shown += reader.readOutput(bytes.slice(at, at + size));
  }
  try {
    reader.readErrors(Deno.readFileSync(`${FIXTURES}/${name}.stderr`));
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  shown += reader.end();
  const failure = exitCode === 0 ? reader.facts.failure : reader.failure(exitCode);
  return {
    lines: shown === "" ? [] : shown.slice(0, -1).split("\n"),
    outputs: reader.facts.outputs,
    failure: failure && [failure.kind, failure.message],
    ...reader.hasLostSession(exitCode) ? { hasLostSession: true } : {},
  };
}

for (const [name, { failure, ...expected }] of Object.entries(RUNS)) {
  Deno.test(`the recorded run ${name} is read`, () => {
    const code = EXIT_CODES.get(name);
    ok(code !== undefined, "its exit code is in the README");
    for (const size of [1 << 20, 7]) {
      deepEqual(read(name, size, code), { ...expected, failure });
    }
  });
}

Deno.test("every recorded run is expected", () => {
  const recorded = [...Deno.readDirSync(FIXTURES)].filter(({ isDirectory }) => isDirectory)
    .flatMap(({ name }) =>
      [...Deno.readDirSync(`${FIXTURES}/${name}`)].flatMap((file) =>
        file.name.endsWith(".jsonl") ? [`${name}/${file.name.replace(".jsonl", "")}`] : []
      )
    );
  deepEqual(recorded.toSorted(), Object.keys(RUNS).toSorted());
});

Deno.test("a program that is not there has lost no session", () => {
  for (const code of [0, 126, 127]) {
    equal(new AgentReader(findAdapter("codex"), () => 0).hasLostSession(code), false);
  }
  const reader = new AgentReader(findAdapter("codex"), () => 0);
  reader.readErrors(new TextEncoder().encode("Not logged in. Please run codex login\n"));
  reader.end();
  equal(reader.hasLostSession(1), false, "nor one whose key is refused");
});

Deno.test("gemini that hangs at a limit has said so on standard error", () => {
  const reader = new AgentReader(findAdapter("gemini"), () => 0);
  const lines = Deno.readTextFileSync(`${FIXTURES}/gemini-cli/limit.stderr`).split("\n");
  reader.readErrors(new TextEncoder().encode(lines.slice(0, 18).join("\n")));
  reader.end();
  equal(reader.failure(143)?.kind, "limit");
  ok(reader.failure(143)?.message.startsWith("Attempt 1 failed with status 429."));
});

Deno.test("an answer of a model that looks like an error of Qwen's API is an answer", () => {
  const reader = new AgentReader(findAdapter("claude"), () => 0);
  const text = "[API Error: 429 You have reached your rate limit.]";
  const usage = { input_tokens: 5, output_tokens: 12 };
  const events = [
    { type: "assistant", message: { content: [{ type: "text", text }], usage } },
    { type: "result", is_error: false, result: text },
  ];
  for (const event of events) {
    reader.readOutput(new TextEncoder().encode(`${JSON.stringify(event)}\n`));
  }
  deepEqual([reader.facts.failure, reader.facts.outputs["result"]], [undefined, text]);
});
