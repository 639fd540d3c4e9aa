/**
 * What svc makes of the lines that agents print: lines for people, outputs, and how a run failed.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { type AdapterName, AGENT_OUTPUTS, findAdapter } from "../../src/agents/adapters.ts";
import type { AgentFailure } from "../../src/agents/agent_failure.ts";
import { AgentReader } from "../../src/agents/agent_reader.ts";
import { utf8 } from "../../src/base/bytes.ts";

const NOW = Date.UTC(2026, 10, 26, 8);

/** What came of a run. */
interface Read {
  readonly lines: readonly string[];
  readonly outputs: Readonly<Record<string, string>>;
  readonly failure: AgentFailure | undefined;
}

/** Reads a run that printed these events, or lines, and ended with this exit code. */
function read(
  name: AdapterName,
  printed: readonly unknown[],
  { code = 0, stderr = "" }: { readonly code?: number; readonly stderr?: string } = {},
): Read {
  const reader = new AgentReader(findAdapter(name), () => NOW);
  reader.readErrors(utf8(stderr));
  const text = printed.map((one) => typeof one === "string" ? one : JSON.stringify(one));
  const shown = reader.readOutput(utf8(text.map((one) => `${one}\n`).join(""))) + reader.end();
  return {
    lines: shown === "" ? [] : shown.slice(0, -1).split("\n"),
    outputs: reader.facts.outputs,
    failure: code === 0 ? reader.facts.failure : reader.failure(code),
  };
}

const RUNS: readonly {
  readonly what: string;
  readonly name: AdapterName;
  readonly printed: readonly unknown[];
  readonly end?: { readonly code?: number; readonly stderr?: string };
  readonly lines?: readonly string[];
  readonly outputs?: Readonly<Record<string, string>>;
  readonly failure?: AgentFailure;
}[] = [
  {
    what: "claude: session, texts, tools, usage",
    name: "claude",
    printed: [
      { type: "system", subtype: "init", session_id: "0b5e-1" },
      {
        type: "assistant",
        message: {
          content: [
            { type: "thinking", thinking: "hm" },
            { type: "text", text: "I look.\nThen I test.\n" },
            { type: "tool_use", name: "Bash", input: { command: "make test", timeout: 5 } },
          ],
        },
      },
      { type: "user", message: { content: [{ type: "tool_result", content: "ok" }] } },
      {
        type: "result",
        subtype: "success",
        is_error: false,
        result: "All well.",
        session_id: "0b5e-1",
        total_cost_usd: 0.0123456789,
        usage: {
          input_tokens: 3,
          cache_creation_input_tokens: 10,
          cache_read_input_tokens: 100,
          output_tokens: 7,
        },
      },
    ],
    lines: ["I look.", "Then I test.", "▸ Bash: make test"],
    outputs: {
      result: "All well.",
      session_id: "0b5e-1",
      tokens_in: "113",
      tokens_out: "7",
      cost_usd: "0.012346",
    },
  },
  {
    what: "claude: is_error counts, whatever the subtype",
    name: "claude",
    printed: [{
      type: "result",
      subtype: "success",
      is_error: true,
      api_error_status: 429,
      result: "API Error: try later",
    }],
    failure: { kind: "limit", message: "API Error: try later" },
  },
  {
    what: "claude: a limit with its reset",
    name: "claude",
    printed: [
      {
        type: "rate_limit_event",
        rate_limit_info: {
          status: "rejected",
          resetsAt: NOW / 1000 + 3600,
          rateLimitType: "five_hour",
        },
      },
      { type: "assistant", error: "rate_limit", message: { content: [] } },
      { type: "result", subtype: "success", is_error: true, result: "You've hit your limit" },
    ],
    end: { code: 1 },
    failure: { kind: "limit", message: "You've hit your limit", resetsAt: NOW + 3_600_000 },
  },
  {
    what: "claude: a limit that was over before the run failed",
    name: "claude",
    printed: [
      { type: "system", subtype: "api_retry", error_status: 429, error: "rate_limit" },
      { type: "assistant", message: { content: [{ type: "text", text: "Here I am." }] } },
      {
        type: "result",
        subtype: "error_during_execution",
        is_error: true,
        errors: ["the tool crashed"],
      },
    ],
    end: { code: 1 },
    lines: ["the model's API failed with 429", "Here I am."],
    failure: { kind: "error", message: "the tool crashed" },
  },
  {
    what: "claude: its own budget",
    name: "claude",
    printed: [{ type: "result", subtype: "error_max_budget_usd", is_error: true }],
    end: { code: 1 },
    failure: { kind: "budget", message: "error max budget usd" },
  },
  {
    what: "claude: not logged in",
    name: "claude",
    printed: [
      { type: "assistant", error: "authentication_failed", message: { content: [] } },
      { type: "result", subtype: "success", is_error: true, result: "Please run /login" },
    ],
    end: { code: 1 },
    failure: { kind: "auth", message: "Please run /login" },
  },
  {
    what: "cursor: tool calls in its own form",
    name: "claude",
    printed: [
      {
        type: "tool_call",
        subtype: "started",
        tool_call: { readToolCall: { args: { path: "a.ts" } } },
      },
      {
        type: "tool_call",
        subtype: "completed",
        tool_call: { readToolCall: { args: { path: "a.ts" }, result: {} } },
      },
    ],
    lines: ["▸ read: a.ts"],
  },
  {
    what: "qwen: cached tokens are among the total",
    name: "claude",
    printed: [{
      type: "result",
      is_error: false,
      result: "ok",
      usage: {
        input_tokens: 100,
        cache_read_input_tokens: 40,
        output_tokens: 5,
        total_tokens: 105,
      },
    }],
    outputs: { result: "ok", tokens_in: "100", tokens_out: "5" },
  },
  {
    what: "codex: thread, commands, warnings, usage of two turns",
    name: "codex",
    printed: [
      { type: "thread.started", thread_id: "0199-a" },
      { type: "turn.started" },
      { type: "item.started", item: { id: "1", type: "command_execution", command: "make" } },
      {
        type: "item.completed",
        item: { id: "1", type: "command_execution", command: "make", exit_code: 2 },
      },
      {
        type: "item.completed",
        item: { id: "2", type: "command_execution", command: "ls", exit_code: 0 },
      },
      { type: "item.completed", item: { id: "3", type: "error", message: "model unknown" } },
      { type: "item.completed", item: { id: "4", type: "reasoning", text: "hm" } },
      {
        type: "item.completed",
        item: { id: "5", type: "file_change", changes: [{ path: "a" }, { path: "b" }] },
      },
      { type: "item.completed", item: { id: "6", type: "agent_message", text: "Half." } },
      { type: "turn.completed", usage: { input_tokens: 10, output_tokens: 2 } },
      { type: "item.completed", item: { id: "7", type: "agent_message", text: "Done." } },
      {
        type: "turn.completed",
        usage: { input_tokens: 20, cached_input_tokens: 15, output_tokens: 3 },
      },
    ],
    lines: [
      "▸ shell: make",
      "  exit code 2",
      "▸ shell: ls",
      "warning: model unknown",
      "▸ edit: a b",
      "Half.",
      "Done.",
    ],
    outputs: { result: "Done.", session_id: "0199-a", tokens_in: "30", tokens_out: "5" },
  },
  {
    what: "codex: a limit is words only",
    name: "codex",
    printed: [{
      type: "turn.failed",
      error: { message: "You've hit your usage limit. Try again in 2 days 3 hours 4 minutes." },
    }],
    end: { code: 1 },
    failure: {
      kind: "limit",
      message: "You've hit your usage limit. Try again in 2 days 3 hours 4 minutes.",
      resetsAt: NOW + ((2 * 24 + 3) * 60 + 4) * 60_000,
    },
  },
  {
    what: "codex: an attempt that is repeated is no failure",
    name: "codex",
    printed: [
      { type: "error", message: "stream error: 429 Too Many Requests; retrying 1/5" },
      { type: "item.completed", item: { id: "1", type: "agent_message", text: "ok" } },
      { type: "turn.completed", usage: {} },
    ],
    lines: ["stream error: 429 Too Many Requests; retrying 1/5", "ok"],
    outputs: { result: "ok" },
  },
  {
    what: "gemini: deltas are joined, the last answer is the result",
    name: "gemini",
    printed: [
      { type: "init", session_id: "g-1", model: "m" },
      { type: "message", role: "user", content: "do it" },
      { type: "message", role: "assistant", content: "I wi", delta: true },
      { type: "message", role: "assistant", content: "ll.\nSo", delta: true },
      { type: "tool_use", tool_name: "read_file", parameters: { file_path: "x" } },
      { type: "tool_result", status: "success", output: "…" },
      { type: "message", role: "assistant", content: "Do", delta: true },
      { type: "message", role: "assistant", content: "ne.", delta: true },
      { type: "result", status: "success", stats: { input_tokens: 9, output_tokens: 4 } },
    ],
    lines: ["I will.", "So", "▸ read_file: x", "Done."],
    outputs: { result: "Done.", session_id: "g-1", tokens_in: "9", tokens_out: "4" },
  },
  {
    what: "gemini: the exit code says what no event says",
    name: "gemini",
    printed: [],
    end: { code: 41, stderr: "Please set an Auth method in settings.json\n" },
    failure: { kind: "auth", message: "Please set an Auth method in settings.json" },
  },
  {
    what: "gemini: only standard error",
    name: "gemini",
    printed: [],
    end: { code: 1, stderr: "Attempt 3 failed with status 429. Retrying with backoff…\n" },
    failure: {
      kind: "limit",
      message: "Attempt 3 failed with status 429. Retrying with backoff…",
    },
  },
  {
    what: "opencode: a session on each event, steps are summed",
    name: "opencode",
    printed: [
      { type: "step_start", sessionID: "ses_1", part: {} },
      {
        type: "tool_use",
        sessionID: "ses_1",
        part: { tool: "bash", state: { status: "error", input: { command: "x" }, error: "no x" } },
      },
      {
        type: "step_finish",
        sessionID: "ses_1",
        part: {
          cost: 0.1,
          tokens: { input: 5, output: 2, reasoning: 1, cache: { read: 10, write: 1 } },
        },
      },
      { type: "text", sessionID: "ses_1", part: { text: "Yes." } },
      {
        type: "step_finish",
        sessionID: "ses_1",
        part: { cost: 0.2, tokens: { input: 1, output: 1, reasoning: 0, cache: {} } },
      },
    ],
    lines: ["▸ bash: x", "  failed: no x", "Yes."],
    outputs: {
      result: "Yes.",
      session_id: "ses_1",
      tokens_in: "17",
      tokens_out: "4",
      cost_usd: "0.3",
    },
  },
  {
    what: "opencode: a limit with retry-after",
    name: "opencode",
    printed: [{
      type: "error",
      sessionID: "ses_1",
      error: {
        name: "APIError",
        data: { message: "slow down", statusCode: 429, responseHeaders: { "retry-after": "30" } },
      },
    }],
    end: { code: 1 },
    lines: ["slow down"],
    outputs: { session_id: "ses_1" },
    failure: { kind: "limit", message: "slow down", resetsAt: NOW + 30_000 },
  },
  {
    what: "copilot: messages, tools, the end",
    name: "copilot",
    printed: [
      { type: "assistant.message", data: { content: "Let me see." } },
      { type: "tool.execution_start", data: { toolName: "bash", arguments: { command: "ls" } } },
      { type: "assistant.message", data: { content: "Done." } },
      { type: "result", sessionId: "c-1", exitCode: 0, usage: { premiumRequests: 1 } },
    ],
    lines: ["Let me see.", "▸ bash: ls", "Done."],
    outputs: { result: "Done.", session_id: "c-1" },
  },
  {
    what: "copilot: not logged in",
    name: "copilot",
    printed: [],
    end: { code: 1, stderr: "Error: No authentication information found.\n" },
    failure: { kind: "auth", message: "Error: No authentication information found." },
  },
];

for (const { what, name, printed, end, lines, outputs, failure } of RUNS) {
  Deno.test(`read ${what}`, () => {
    const found = read(name, printed, end);
    if (lines !== undefined) deepEqual(found.lines, lines);
    if (outputs !== undefined) deepEqual(found.outputs, outputs);
    deepEqual(found.failure, failure);
  });
}

Deno.test("every adapter has a run in the table", () => {
  const tried = new Set(RUNS.map(({ name }) => name));
  deepEqual(AGENT_OUTPUTS.filter((one) => one !== "text" && !tried.has(one)), []);
});

/** Events of every type that an adapter knows, each with fields of wrong types. */
const NAMES = AGENT_OUTPUTS.filter((one) => one !== "text");

const TYPES = [
  ...RUNS.flatMap(({ printed }) => printed)
    .flatMap((one) => typeof one === "object" && one !== null && "type" in one ? [one.type] : []),
  "session.error",
  "session.start",
  "assistant.usage",
];

const ODD = [null, 1, -1, 1e400, "x", "7", true, [], [[]], {}, [null], { text: 1, type: "text" }];

Deno.test("an adapter survives events whose fields have any type", () => {
  const fields = ["message", "item", "part", "data", "error", "usage", "stats", "tool_call"];
  for (const name of NAMES) {
    for (const type of TYPES) {
      for (const odd of ODD) {
        const event = Object.fromEntries(fields.map((field) => [field, odd]));
        const { lines } = read(name, [{ type, subtype: odd, role: "assistant", ...event }]);
        ok(lines.length < 10);
      }
    }
  }
});

Deno.test("session, tokens and cost do not depend on the order of events", () => {
  for (const { name, printed, outputs } of RUNS) {
    if (outputs === undefined) continue;
    const { result: _, ...numbers } = outputs;
    for (let n = 0; n < printed.length; n++) {
      const mixed = [...printed.slice(n), ...printed.slice(0, n)].toReversed();
      const { result: _, ...found } = read(name, mixed).outputs;
      deepEqual(found, numbers);
    }
  }
});

const NO_EVENTS: readonly string[] = [
  "plain words",
  '{"type":"result","is_err',
  "[1,2]",
  '"text"',
  "null",
  "  indented",
  "{}x",
  "",
];

Deno.test("a line that is no event is shown as it is", () => {
  for (const name of NAMES) deepEqual(read(name, NO_EVENTS).lines, NO_EVENTS);
});

Deno.test("names of prototypes are ordinary names", () => {
  const type = ["__proto__", "constructor", "toString", "hasOwnProperty"];
  for (const name of NAMES) {
    for (const one of type) {
      const { lines, outputs } = read(name, [
        `{"type":"${one}","__proto__":{"session_id":"evil","is_error":true}}`,
        `{"__proto__":{"type":"result","is_error":true,"session_id":"evil","result":"evil"}}`,
      ]);
      deepEqual([lines, outputs], [[], {}]);
    }
  }
  const inherited = { type: "result", usage: JSON.parse('{"__proto__":{"output_tokens":5}}') };
  deepEqual(read("claude", [inherited]).outputs, { result: "" });
  equal(Object.hasOwn(Object.prototype, "session_id"), false);
});

const SESSIONS: readonly (readonly [id: unknown, kept: boolean])[] = [
  ["0199a213-81c0-7800-8aa1-bbab2a035a53", true],
  ["ses_4a1.b", true],
  ["T-5f1", true],
  ["x".repeat(128), true],
  ["x".repeat(129), false],
  ["--dangerously-skip-permissions", false],
  ["-s", false],
  ["../../etc", false],
  ["..", false],
  ["a b", false],
  ["a\nb", false],
  ["a;reboot", false],
  ["$(x)", false],
  ["é", false],
  ["", false],
  [5, false],
  [["a"], false],
  [null, false],
];

for (const [id, kept] of SESSIONS) {
  Deno.test(`a session ${JSON.stringify(id)?.slice(0, 40)} is ${kept ? "kept" : "dropped"}`, () => {
    const { outputs } = read("codex", [{ type: "thread.started", thread_id: id }]);
    deepEqual(outputs, kept ? { session_id: id } : {});
  });
}

const COUNTS: readonly unknown[] = ["5", -1, 1.5, 1e300, 2 ** 53, null, [], {}, true];

for (const count of COUNTS) {
  Deno.test(`${JSON.stringify(count)} is no number of tokens and ends no sum`, () => {
    const { outputs } = read("codex", [
      { type: "turn.completed", usage: { input_tokens: 3, output_tokens: 3 } },
      { type: "turn.completed", usage: { input_tokens: count, output_tokens: count } },
    ]);
    deepEqual(outputs, { tokens_in: "3", tokens_out: "3" });
  });
}

Deno.test("costs are amounts, without an exponent", () => {
  const costOf = (usd: string) =>
    read("claude", [`{"type":"result","total_cost_usd":${usd}}`]).outputs["cost_usd"];
  equal(costOf("0.0000004"), "0");
  equal(costOf("0.000002"), "0.000002");
  equal(costOf("12"), "12");
  for (const bad of ["-1", '"3"', "1e400", "1e300", "null", "[1]"]) equal(costOf(bad), undefined);
});

Deno.test("a result is cut to what an output holds, between two characters", () => {
  const reader = new AgentReader(findAdapter("claude"), () => NOW);
  const result = "a" + "😀".repeat(40_000);
  reader.readOutput(utf8(JSON.stringify({ type: "result", result }) + "\n"));
  const kept = reader.facts.outputs["result"] ?? "";
  ok(reader.facts.isResultCut);
  ok(result.startsWith(kept) && kept.isWellFormed());
  const { length } = utf8(kept);
  ok(length <= 128 * 1024 && length > 128 * 1024 - 4, `${length}`);
});

Deno.test("gemini: an endless answer without a line break is bounded, and shown", () => {
  const reader = new AgentReader(findAdapter("gemini"), () => NOW);
  let shown = 0;
  const delta = { type: "message", role: "assistant", content: "x".repeat(10_000), delta: true };
  for (let n = 0; n < 1000; n++) {
    shown += reader.readOutput(utf8(`${JSON.stringify(delta)}\n`)).replaceAll("\n", "").length;
  }
  shown += reader.end().trimEnd().length;
  equal(shown, 10_000_000);
  equal(reader.facts.outputs["result"]?.length, 128 * 1024);
});

Deno.test("codex: starts without an end are bounded", () => {
  const starts = Array.from({ length: 5000 }, (_, n) => ({
    type: "item.started",
    item: { id: String(n), type: "command_execution", command: "x" },
  }));
  equal(read("codex", starts).lines.length, 100);
});

Deno.test("a failure has one line of at most 500 characters", () => {
  const message = `first\nsecond\t${"long ".repeat(100_000)}`;
  const { failure } = read("codex", [{ type: "turn.failed", error: { message } }], { code: 1 });
  ok(failure !== undefined && failure.message.length <= 500);
  ok(failure.message.startsWith("first second long"));
  ok(!/[\n\t]/.test(failure.message));
});

Deno.test("a tool is named on one line, however deep and large its input is", () => {
  const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
  const input = `{"a":${deep},"b":"x\\ny","c":${JSON.stringify("z".repeat(300_000))}}`;
  const event = `{"type":"assistant","message":{"content":[{"type":"tool_use","name":"T","input":`;
  const { lines } = read("claude", [`${event}${input}}]}}`]);
  equal(lines.length, 1);
});

Deno.test("a small input of great depth is named too", () => {
  const deep = `${"[".repeat(900)}${"]".repeat(900)}`;
  const event = `{"type":"assistant","message":{"content":[{"type":"tool_use","name":"T\\nU",` +
    `"input":{"a":${deep},"b":"x\\ny","n":5}}]}}`;
  deepEqual(read("claude", [event]).lines, ["▸ T U: b=x y n=5"]);
});
