/**
 * Tokens in answers: of each API, in JSON and in events, in pieces of any size, and where somebody
 * writes something that looks like them.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { utf8 } from "../../src/base/bytes.ts";
import { type Tokens, usageReader } from "../../src/egress/usage.ts";

const JSON_TYPE = "application/json; charset=utf-8";
const EVENTS = "text/event-stream";

/** What is read of a text that comes in pieces of this size. */
function read(type: string, text: string, size: number): Tokens | undefined {
  const reader = usageReader(type);
  const bytes = utf8(text);
  for (let at = 0; at < bytes.length; at += size) reader?.push(bytes.subarray(at, at + size));
  return reader?.tokens;
}

const tokens = (input: number, output: number, cacheRead = 0, cacheWrite = 0): Tokens => ({
  input,
  output,
  cacheRead,
  cacheWrite,
});

const events = (...data: readonly unknown[]) =>
  data.map((one) => `event: x\ndata: ${typeof one === "string" ? one : JSON.stringify(one)}\n\n`)
    .join("");

const HOSTILE = 'he said "usage": {"input_tokens": 999999} \\" }}}]]]';

const CASES: readonly (readonly [what: string, type: string, text: string, wanted?: Tokens])[] = [
  [
    "Anthropic",
    JSON_TYPE,
    JSON.stringify({
      type: "message",
      content: [
        { type: "text", text: HOSTILE },
        { type: "tool_use", input: { usage: { input_tokens: 5000 }, message: { usage: {} } } },
      ],
      usage: {
        input_tokens: 10,
        cache_creation_input_tokens: 3,
        cache_read_input_tokens: 20,
        output_tokens: 7,
        server_tool_use: { web_search_requests: 1 },
      },
    }),
    tokens(33, 7, 20, 3),
  ],
  [
    "Anthropic's events",
    EVENTS,
    events(
      {
        type: "message_start",
        message: { id: "m", content: [], usage: { input_tokens: 25, output_tokens: 1 } },
      },
      { type: "content_block_delta", delta: { type: "text_delta", text: HOSTILE } },
      { type: "ping" },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 15 } },
      { type: "message_stop" },
    ),
    tokens(25, 15),
  ],
  [
    "OpenAI's chat completions",
    JSON_TYPE,
    JSON.stringify(
      {
        choices: [{ message: { content: HOSTILE, usage: { prompt_tokens: 9999 } } }],
        usage: {
          prompt_tokens: 100,
          completion_tokens: 40,
          total_tokens: 140,
          prompt_tokens_details: { cached_tokens: 64 },
        },
      },
      null,
      2,
    ),
    tokens(100, 40, 64),
  ],
  [
    "OpenAI's chat completions as events",
    EVENTS,
    events(
      { choices: [{ delta: { content: HOSTILE } }], usage: null },
      { choices: [], usage: { prompt_tokens: 8, completion_tokens: 2 } },
      "[DONE]",
    ),
    tokens(8, 2),
  ],
  [
    "OpenAI's responses",
    JSON_TYPE,
    JSON.stringify({
      output: [{ content: [{ text: HOSTILE }] }],
      usage: {
        input_tokens: 50,
        input_tokens_details: { cached_tokens: 30 },
        output_tokens: 11,
        output_tokens_details: { reasoning_tokens: 4 },
      },
    }),
    tokens(50, 11, 30),
  ],
  [
    "OpenAI's responses as events",
    EVENTS,
    events(
      { type: "response.created", response: { usage: null } },
      { type: "response.output_text.delta", delta: HOSTILE },
      {
        type: "response.completed",
        response: { output: [], usage: { input_tokens: 6, output_tokens: 3 } },
      },
    ),
    tokens(6, 3),
  ],
  [
    "Gemini",
    JSON_TYPE,
    JSON.stringify({
      candidates: [{ content: { parts: [{ text: HOSTILE }] } }],
      usageMetadata: {
        promptTokenCount: 12,
        candidatesTokenCount: 5,
        thoughtsTokenCount: 2,
        cachedContentTokenCount: 4,
        totalTokenCount: 19,
      },
    }),
    tokens(12, 7, 4),
  ],
  [
    "Gemini's list of answers",
    JSON_TYPE,
    JSON.stringify([
      { usageMetadata: { promptTokenCount: 12 } },
      { usageMetadata: { promptTokenCount: 12, candidatesTokenCount: 9 } },
    ]),
    tokens(12, 9),
  ],
  [
    "Gemini's events with CR LF",
    EVENTS,
    events({ usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 } }, {
      response: { usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 6 } },
    }).replaceAll("\n", "\r\n"),
    tokens(1, 6),
  ],
  [
    "an event of several lines",
    EVENTS,
    'data: {"usage":\ndata: {"output_tokens":\ndata:4}}\n\n',
    tokens(0, 4),
  ],
  ["a comment and another field", EVENTS, ': {"usage":{"output_tokens":4}}\nid: {"usage":{}}\n\n'],
  [
    "an event that is cut, and a whole one",
    EVENTS,
    events('{"a": [{"b": "', { usage: { output_tokens: 4 } }),
    tokens(0, 4),
  ],
  [
    "no usage",
    JSON_TYPE,
    JSON.stringify({ error: { message: HOSTILE, usage: { output_tokens: 4 } } }),
  ],
  ["half a document", JSON_TYPE, '{"usage": {"output_tokens": 4'],
  [
    "a usage that is no object",
    JSON_TYPE,
    '{"usage": [{"output_tokens": 4}], "message": {"usage": 5}}',
  ],
  [
    "numbers that are none",
    JSON_TYPE,
    '{"usage": {"output_tokens": "4", "input_tokens": -3}}',
    tokens(0, 0),
  ],
  [
    "numbers too large",
    JSON_TYPE,
    '{"usage": {"output_tokens": 1e300, "input_tokens": 1.5}}',
    tokens(0, 0),
  ],
  ["a usage that is broken", JSON_TYPE, '{"usage": {"output_tokens": 4,, "a": nul}}'],
  [
    "a usage that is too long",
    JSON_TYPE,
    `{"usage": {"a": "${"x".repeat(9000)}", "output_tokens": 4}}`,
  ],
  ["a key too long", JSON_TYPE, `{"${"usage".repeat(9999)}": {"output_tokens": 4}}`],
  ["closed too often", JSON_TYPE, `]]}}}{"usage":{"output_tokens":4}}`, tokens(0, 4)],
  ["deeply nested", JSON_TYPE, "[".repeat(100_000) + '{"usage":{"output_tokens":4}}'],
  ["a name with an escape", JSON_TYPE, '{"us\\u0061ge":{"output_tokens":4}}'],
  ["another type", "text/html", '{"usage":{"output_tokens":4}}'],
  [
    "__proto__",
    JSON_TYPE,
    '{"usage":{"__proto__":{"output_tokens":4},"input_tokens":1}}',
    tokens(1, 0),
  ],
];

for (const [what, type, text, wanted] of CASES) {
  Deno.test(`tokens: ${what}`, () => {
    for (const size of [1, 2, 3, 7, 64, 1 << 20]) {
      deepEqual(read(type, text, size), wanted, `${size}`);
    }
  });
}

Deno.test("an answer without end keeps nothing", () => {
  const reader = usageReader(EVENTS);
  ok(reader !== undefined);
  const piece = utf8(`data: {"a": "${"x".repeat(50_000)}`);
  reader.push(piece);
  const before = Deno.memoryUsage().heapUsed;
  for (let i = 0; i < 2000; i++) reader.push(piece); // 100 MB
  ok(Deno.memoryUsage().heapUsed - before < 20_000_000);
  equal(reader.tokens, undefined);
});
