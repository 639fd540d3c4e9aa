/**
 * The protocol of `svc mcp`: what a client may send, and what it gets.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { AppError } from "../../src/base/errors.ts";
import { type JsonObject, toJson } from "../../src/base/json.ts";
import { inputLines, TOO_LONG } from "../../src/mcp/input_lines.ts";
import { readLine } from "../../src/mcp/messages.ts";
import { McpSession } from "../../src/mcp/session.ts";

/** A session whose tools are these: `wait` ends only when it is cancelled. */
function sessionOf() {
  const written: unknown[] = [];
  const bugs: unknown[] = [];
  const called: JsonObject[] = [];
  const session = new McpSession({
    tools: {
      list: () => Promise.resolve([{ name: "echo" }]),
      call(name, given, signal) {
        called.push({ name, ...given });
        if (name === "refuse") throw new AppError("refused", "The daemon is not running");
        if (name === "break") throw new Error("at /srv/secret.ts:5");
        if (name === "none") return Promise.resolve(undefined);
        if (name !== "wait") return Promise.resolve({ content: [] });
        const { promise, resolve } = Promise.withResolvers<JsonObject>();
        signal.addEventListener("abort", () => resolve({ content: [] }));
        return promise;
      },
    },
    write: (answer) => void written.push(JSON.parse(toJson(answer))),
    onBug: (error) => void bugs.push(error),
  });
  return {
    written,
    bugs,
    called,
    take: (line: string | Uint8Array) =>
      session.take(readLine(typeof line === "string" ? new TextEncoder().encode(line) : line)),
    finish: () => session.finish(),
  };
}

const request = (id: unknown, method: string, params?: unknown) =>
  JSON.stringify({ jsonrpc: "2.0", id, method, params });
const call = (id: unknown, name: string, given?: unknown) =>
  request(id, "tools/call", { name, arguments: given });

const errorWith = (code: number, id: unknown = null) => ({ code, id });

/** A line, and its answer: a result with the id, the code of an error with the id, or nothing. */
const CASES: Readonly<Record<string, readonly [line: string, answer: unknown]>> = {
  "a ping": [request(1, "ping"), { id: 1, result: {} }],
  "an id that is a text": [request("a b", "ping"), { id: "a b", result: {} }],
  "an id that is empty": [request("", "ping"), { id: "", result: {} }],
  "an id that is negative": [request(-7, "ping"), { id: -7, result: {} }],
  "an id that is a fraction": [request(0.5, "ping"), { id: 0.5, result: {} }],
  "an id that is null": [request(null, "ping"), errorWith(-32600)],
  "an id that is an object": [request({ a: 1 }, "ping"), errorWith(-32600)],
  "an id that is a list": [request([1], "ping"), errorWith(-32600)],
  "an id that is a boolean": [request(true, "ping"), errorWith(-32600)],
  "the list": [request(2, "tools/list"), { id: 2, result: { tools: [{ name: "echo" }] } }],
  "a call": [call(3, "echo", { a: 1 }), { id: 3, result: { content: [] } }],
  "a call without arguments": [call(3, "echo"), { id: 3, result: { content: [] } }],
  "a call of no tool": [call(3, "none"), errorWith(-32602, 3)],
  "a call without a name": [request(3, "tools/call", {}), errorWith(-32602, 3)],
  "a call whose arguments are a list": [call(3, "echo", []), errorWith(-32602, 3)],
  "a call that is refused outside of a tool": [call(3, "refuse"), errorWith(-32000, 3)],
  "params that are a list": [request(3, "ping", [1]), errorWith(-32600)],
  "an unknown method": [request(4, "resources/list"), errorWith(-32601, 4)],
  "a method of every object": [request(4, "constructor"), errorWith(-32601, 4)],
  "a notification": ['{"jsonrpc":"2.0","method":"notifications/initialized"}', undefined],
  "an unknown notification": ['{"jsonrpc":"2.0","method":"tools/call"}', undefined],
  "an answer to nothing": ['{"jsonrpc":"2.0","id":9,"result":{}}', undefined],
  "an error as an answer": ['{"jsonrpc":"2.0","id":9,"error":{"code":1}}', undefined],
  "a cancellation of nothing": [
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}',
    undefined,
  ],
  "a cancellation without an id": [
    '{"jsonrpc":"2.0","method":"notifications/cancelled"}',
    undefined,
  ],
  "no JSON": ["{", errorWith(-32700)],
  "a text": ['"ping"', errorWith(-32600)],
  "null": ["null", errorWith(-32600)],
  "another version": ['{"jsonrpc":"1.0","id":1,"method":"ping"}', errorWith(-32600)],
  "no method": ['{"jsonrpc":"2.0","id":1}', errorWith(-32600)],
  "a method that is a number": ['{"jsonrpc":"2.0","id":1,"method":5}', errorWith(-32600)],
  "an empty batch": ["[]", errorWith(-32600)],
  "lists in each other, deep": ["[".repeat(200_000), errorWith(-32700)],
  "objects in each other, deep": [
    `{"jsonrpc":"2.0","id":1,"method":"ping","params":${'{"a":'.repeat(100_000)}1${
      "}".repeat(100_000)
    }}`,
    errorWith(-32700),
  ],
};

for (const [name, [line, expected]] of Object.entries(CASES)) {
  Deno.test(`a client sends ${name}`, async () => {
    const session = sessionOf();
    session.take(line);
    await session.finish();
    const [answer, ...more] = session.written as {
      jsonrpc: string;
      id: unknown;
      result?: unknown;
      error?: { code: number };
    }[];
    deepEqual(more, []);
    if (answer === undefined) return equal(expected, undefined);
    const { jsonrpc, id, result, error } = answer;
    equal(jsonrpc, "2.0");
    deepEqual(error === undefined ? { id, result } : { code: error.code, id }, expected);
  });
}

for (
  const [asked, answered] of [
    ["2025-11-25", "2025-11-25"],
    ["2025-06-18", "2025-06-18"],
    ["2024-11-05", "2024-11-05"],
    ["1999-01-01", "2025-11-25"],
    [undefined, "2025-11-25"],
    [{ toString: "x" }, "2025-11-25"],
  ]
) {
  Deno.test(`a client that speaks ${JSON.stringify(asked)} is answered in ${answered}`, async () => {
    const session = sessionOf();
    session.take(request(0, "initialize", { protocolVersion: asked, capabilities: {} }));
    await session.finish();
    const [{ result }] = session.written as [{ result: Record<string, unknown> }];
    equal(result["protocolVersion"], answered);
    deepEqual(result["capabilities"], { tools: {} });
  });
}

Deno.test("an id keeps digits that a double cannot hold", async () => {
  const lines: string[] = [];
  const session = new McpSession({
    tools: { list: () => Promise.resolve([]), call: () => Promise.resolve(undefined) },
    write: (answer) => void lines.push(toJson(answer)),
    onBug: () => {},
  });
  const line = '{"jsonrpc":"2.0","id":12345678901234567890,"method":"ping"}';
  session.take(readLine(new TextEncoder().encode(line)));
  await session.finish();
  deepEqual(lines, ['{"jsonrpc":"2.0","id":12345678901234567890,"result":{}}']);
});

Deno.test("bytes that are no UTF-8 are refused", async () => {
  const session = sessionOf();
  session.take(new Uint8Array([0x7b, 0xff, 0x7d]));
  await session.finish();
  equal((session.written[0] as { error: { code: number } }).error.code, -32700);
});

Deno.test("a batch is answered in one line, in its order, without its notifications", async () => {
  const session = sessionOf();
  session.take(
    `[${request(1, "ping")}, {"jsonrpc":"2.0","method":"x"}, 5, ${call(2, "echo")}]`,
  );
  await session.finish();
  equal(session.written.length, 1);
  const [answers] = session.written as [{ id: unknown }[]];
  deepEqual(answers.map(({ id }) => id), [1, null, 2]);
  session.take('[{"jsonrpc":"2.0","method":"x"}]');
  await session.finish();
  equal(session.written.length, 1, "a batch of notifications has no answer");
  session.take(JSON.stringify(Array.from({ length: 51 }, () => ({}))));
  await session.finish();
  equal((session.written[1] as { error: { code: number } }).error.code, -32600);
});

Deno.test("a cancelled call ends, and is not answered", async () => {
  const session = sessionOf();
  session.take(call("slow", "wait"));
  session.take(call(7, "wait"));
  session.take(call("7", "wait"));
  const cancel = (requestId: unknown) =>
    session.take(JSON.stringify({
      jsonrpc: "2.0",
      method: "notifications/cancelled",
      params: { requestId },
    }));
  cancel("slow");
  cancel("7");
  session.take(call(7, "echo"));
  session.take(request(8, "ping"));
  cancel(7);
  await session.finish();
  const answers = session.written as { id: unknown; error?: unknown }[];
  deepEqual(answers.map(({ id, error }) => [id, error !== undefined]), [[7, true], [8, false]]);
});

Deno.test("only so many calls are open at once", async () => {
  const session = sessionOf();
  for (let id = 0; id < 40; id++) session.take(call(id, "wait"));
  await new Promise<void>((resolve) => queueMicrotask(resolve));
  equal(session.called.length, 32);
  for (let id = 0; id < 32; id++) {
    session.take(JSON.stringify({
      jsonrpc: "2.0",
      method: "notifications/cancelled",
      params: { requestId: id },
    }));
  }
  await session.finish();
  equal(session.written.length, 8, "the others were refused at once");
  session.take(request(1, "ping"));
  await session.finish();
  equal(session.written.length, 9);
});

Deno.test("the text of a bug goes to standard error, not to the client", async () => {
  const session = sessionOf();
  session.take(call(1, "break"));
  await session.finish();
  equal(session.bugs.length, 1);
  ok(!JSON.stringify(session.written).includes("secret"), JSON.stringify(session.written));
  equal((session.written[0] as { error: { code: number } }).error.code, -32603);
});

/** The lines of these chunks; a line that was too long is `TOO_LONG`. */
async function linesOf(chunks: readonly string[], most = 10): Promise<string[]> {
  const stream = ReadableStream.from(chunks.map((chunk) => new TextEncoder().encode(chunk)));
  const lines: string[] = [];
  for await (const line of inputLines(stream, most)) {
    lines.push(line === TOO_LONG ? TOO_LONG : new TextDecoder().decode(line));
  }
  return lines;
}

Deno.test("lines are whole however their bytes arrive, and none is longer than allowed", async () => {
  deepEqual(await linesOf(["a\nb", "c\n", "\n", "d"]), ["a", "bc", "", "d"]);
  deepEqual(await linesOf(["0123456789\n"]), ["0123456789"]);
  deepEqual(await linesOf(["01234567890\nnext\n"]), [TOO_LONG, "next"]);
  deepEqual(await linesOf(["x".repeat(7), "x".repeat(7), "x\n", "next"]), [TOO_LONG, "next"]);
  deepEqual(await linesOf(["x".repeat(50)]), [TOO_LONG]);
  deepEqual(await linesOf([]), []);
});
