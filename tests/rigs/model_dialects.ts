/**
 * How each API of models writes what {@linkcode modelApi} says: as JSON, as a stream of events, and
 * as an error. No network.
 *
 * @module
 */

/** What one side of a conversation said; `tool` is the output of a tool. */
export interface Turn {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly text: string;
}

/** A tool that the model may call. */
export interface Tool {
  readonly name: string;
  /** JSON Schema of its input; absent for one that takes a script, as Codex has. */
  readonly input?: Record<string, unknown>;
}

/** A call of a tool by the model; the input of a script is its text. */
export interface ToolCall {
  readonly name: string;
  readonly input: Record<string, unknown> | string;
}

/** What the model answers with: words, or a call of a tool. */
export type Reply = { readonly text: string } | { readonly call: ToolCall };

/** One API. */
export interface Dialect {
  turns(body: unknown): Turn[];
  tools(body: unknown): Tool[];
  /** Whether the answer to this request is a stream. */
  streams(pathname: string, body: unknown): boolean;
  /** The answer as JSON. */
  whole(reply: Reply): unknown;
  /** The answer as a stream, in the pieces that are sent apart. */
  pieces(reply: Reply, sse: boolean): string[];
  problem(status: number, message: string): unknown;
  /** Status that refuses a key; 401 when absent. */
  readonly keyRefused?: number;
  /** JSON Schema of the answer, where the request asks for JSON. */
  schema?(body: unknown): unknown;
  /** The answer, where the path only asks how many tokens a request has. */
  count?(pathname: string): unknown;
}

/** The API that has this path, of those that take POST. */
export function dialectOf(pathname: string): Dialect | undefined {
  return DIALECTS.find(([path]) => path.test(pathname))?.[1];
}

/** Tokens that every answer counts. */
export const USAGE = { input: 1200, output: 34 } as const;

const SHELLS = /^(bash|shell|shell_command|run_shell_command|exec_command)$/i;

/** A call of the tool that runs shell commands; undefined where there is none. */
export function shellCall(tools: readonly Tool[], command: string): ToolCall | undefined {
  if (tools.some(({ name, input }) => name === "exec" && input === undefined)) {
    const call = JSON.stringify({ cmd: command });
    return { name: "exec", input: `text((await tools.exec_command(${call})).output);` };
  }
  const tool = tools.find(({ name }) => SHELLS.test(name));
  if (tool?.input === undefined) return undefined;
  const properties = record(tool.input["properties"]);
  const key = "cmd" in properties ? "cmd" : "command";
  const isList = record(properties[key])["type"] === "array";
  const required = list(tool.input["required"]).filter((name) => name !== key);
  const others = required.map((name) => {
    const { type } = record(properties[`${name}`]) as { type?: string };
    return [`${name}`, type === "boolean" ? false : type === "number" ? 10_000 : "Runs a command"];
  });
  const value = isList ? ["/bin/sh", "-c", command] : command;
  return { name: tool.name, input: { ...Object.fromEntries(others), [key]: value } };
}

/** The plainest value that fits a JSON Schema. */
export function sampleOf(schema: unknown): unknown {
  const { type, enum: values, properties, required, minimum } = record(schema);
  if (Array.isArray(values)) return values[0];
  switch (`${type}`.toLowerCase()) {
    case "object":
      return Object.fromEntries(
        list(required).map((name) => [name, sampleOf(record(properties)[`${name}`])]),
      );
    case "array":
      return [];
    case "number":
    case "integer":
      return minimum ?? 1;
    case "boolean":
      return false;
    default:
      return "sample";
  }
}

const CALL_ID = "call_1";

function sse(events: readonly (readonly [name: string, data: unknown])[]): string[] {
  return events.map(([name, data]) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
}

/** The words of a text, with the space before each: what a stream sends one by one. */
function words(text: string): string[] {
  return text.match(/\s*\S+|\s+$/g) ?? [];
}

const anthropic: Dialect = {
  turns(body) {
    const system = textsOf(record(body)["system"]).map((text): Turn => ({ role: "system", text }));
    const rest = list(record(body)["messages"]).map(record).flatMap(({ role, content }) => [
      ...list(content).map(record).filter(({ type }) => type === "tool_result").map((
        part,
      ): Turn => (
        { role: "tool", text: textsOf(part["content"]).join("") }
      )),
      ...textsOf(content).map((text): Turn => (
        { role: role === "assistant" ? "assistant" : "user", text }
      )),
    ]);
    return [...system, ...rest];
  },
  tools: (body) =>
    list(record(body)["tools"]).map(record).map(({ name, input_schema }) => (
      { name: `${name}`, input: record(input_schema) }
    )),
  streams: (_, body) => record(body)["stream"] === true,
  whole: (reply) => ({
    ...anthropicMessage(reply),
    content: [
      "text" in reply
        ? { type: "text", text: reply.text }
        : { type: "tool_use", id: `toolu_${CALL_ID}`, ...reply.call },
    ],
  }),
  pieces(reply) {
    const message = anthropicMessage(reply);
    const { stop_reason, usage } = message;
    const start = "text" in reply
      ? { type: "text", text: "" }
      : { type: "tool_use", id: `toolu_${CALL_ID}`, name: reply.call.name, input: {} };
    const deltas = "text" in reply
      ? words(reply.text).map((text) => ({ type: "text_delta", text }))
      : [{ type: "input_json_delta", partial_json: JSON.stringify(reply.call.input) }];
    return sse([
      ["message_start", {
        type: "message_start",
        message: {
          ...message,
          content: [],
          stop_reason: null,
          usage: { ...usage, output_tokens: 1 },
        },
      }],
      ["content_block_start", { type: "content_block_start", index: 0, content_block: start }],
      ["ping", { type: "ping" }],
      ...deltas.map((delta) =>
        ["content_block_delta", { type: "content_block_delta", index: 0, delta }] as const
      ),
      ["content_block_stop", { type: "content_block_stop", index: 0 }],
      ["message_delta", {
        type: "message_delta",
        delta: { stop_reason, stop_sequence: null },
        usage: { output_tokens: usage.output_tokens },
      }],
      ["message_stop", { type: "message_stop" }],
    ]);
  },
  problem(status, message) {
    const types: Record<number, string> = {
      401: "authentication_error",
      429: "rate_limit_error",
      529: "overloaded_error",
    };
    return { type: "error", error: { type: types[status], message } };
  },
  count: (pathname) =>
    pathname.endsWith("/count_tokens") ? { input_tokens: USAGE.input } : undefined,
};

function anthropicMessage(reply: Reply) {
  return {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude-fake",
    stop_reason: "text" in reply ? "end_turn" : "tool_use",
    stop_sequence: null,
    usage: {
      input_tokens: USAGE.input,
      output_tokens: USAGE.output,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
    },
  };
}

const chatCompletions: Dialect = {
  turns: (body) =>
    list(record(body)["messages"]).map(record).flatMap(({ role, content }) =>
      textsOf(content).map((text): Turn => ({ role: role as Turn["role"], text }))
    ),
  tools: (body) =>
    list(record(body)["tools"]).map(record).map((tool) => {
      const { name, parameters } = record(tool["function"]);
      return { name: `${name}`, input: record(parameters) };
    }),
  streams: (_, body) => record(body)["stream"] === true,
  whole: (reply) => ({
    ...CHAT,
    object: "chat.completion",
    choices: [{
      index: 0,
      message: "text" in reply
        ? { role: "assistant", content: reply.text }
        : { role: "assistant", content: null, tool_calls: [chatCall(reply.call)] },
      finish_reason: "text" in reply ? "stop" : "tool_calls",
    }],
    usage: CHAT_USAGE,
  }),
  pieces(reply) {
    const deltas = "text" in reply
      ? words(reply.text).map((content) => ({ content }))
      : [{ tool_calls: [{ index: 0, ...chatCall(reply.call) }] }];
    const chunk = (choices: unknown[], rest: object = {}) =>
      `data: ${JSON.stringify({ ...CHAT, object: "chat.completion.chunk", choices, ...rest })}\n\n`;
    const part = (delta: object, finish_reason: string | null = null) =>
      chunk([{ index: 0, delta, finish_reason }]);
    return [
      part({ role: "assistant", content: "" }),
      ...deltas.map((delta) => part(delta)),
      part({}, "text" in reply ? "stop" : "tool_calls"),
      chunk([], { usage: CHAT_USAGE }),
      "data: [DONE]\n\n",
    ];
  },
  problem: openaiProblem,
};

const CHAT = { id: "chatcmpl-1", created: 1_700_000_000, model: "gpt-fake" } as const;
const CHAT_USAGE = {
  prompt_tokens: USAGE.input,
  completion_tokens: USAGE.output,
  total_tokens: USAGE.input + USAGE.output,
} as const;

function chatCall({ name, input }: ToolCall) {
  return { id: CALL_ID, type: "function", function: { name, arguments: JSON.stringify(input) } };
}

function openaiProblem(status: number, message: string) {
  const code = status === 401 ? "invalid_api_key" : "rate_limit_exceeded";
  return { error: { message, type: "invalid_request_error", param: null, code } };
}

const responses: Dialect = {
  turns(body) {
    const { instructions, input } = record(body);
    const first = textsOf(instructions).map((text): Turn => ({ role: "system", text }));
    if (typeof input === "string") return [...first, { role: "user", text: input }];
    const rest = list(input).map(record).flatMap(({ type, role, content, output }): Turn[] =>
      type === "function_call_output" || type === "custom_tool_call_output"
        ? [{ role: "tool", text: textsOf(output).join("") }]
        : textsOf(content).map((text) => (
          { role: role === "developer" ? "system" : role as Turn["role"], text }
        ))
    );
    return [...first, ...rest];
  },
  tools(body) {
    const { tools, input } = record(body);
    const added = list(input).map(record).flatMap(({ type, tools }) =>
      type === "additional_tools" ? list(tools) : []
    );
    return [...list(tools), ...added].map(record)
      .flatMap((tool) => tool["type"] === "namespace" ? list(tool["tools"]).map(record) : [tool])
      .filter(({ type }) => type === "function" || type === "custom")
      .map(({ type, name, parameters }) => (
        { name: `${name}`, ...(type === "custom" ? {} : { input: record(parameters) }) }
      ));
  },
  streams: (_, body) => record(body)["stream"] === true,
  whole: responseOf,
  pieces(reply) {
    const whole = responseOf(reply);
    const [item] = whole.output;
    const at = { output_index: 0, item_id: item?.id, content_index: 0 };
    const deltas = "text" in reply
      ? [
        ["response.content_part.added", {
          ...at,
          part: { type: "output_text", text: "", annotations: [] },
        }],
        ...words(reply.text).map((delta) => ["response.output_text.delta", { ...at, delta }]),
        ["response.output_text.done", { ...at, text: reply.text }],
        ["response.content_part.done", {
          ...at,
          part: { type: "output_text", text: reply.text, annotations: [] },
        }],
      ] as [string, object][]
      : [] as [string, object][];
    const begun = { ...whole, status: "in_progress", output: [], usage: null };
    const opened = "text" in reply ? { ...item, content: [] } : item;
    const events: [string, object][] = [
      ["response.created", { response: begun }],
      ["response.output_item.added", {
        output_index: 0,
        item: { ...opened, status: "in_progress" },
      }],
      ...deltas,
      ["response.output_item.done", { output_index: 0, item }],
      ["response.completed", { response: whole }],
    ];
    return sse(
      events.map(([type, data], index) => [type, { type, sequence_number: index, ...data }]),
    );
  },
  problem: openaiProblem,
};

function responseOf(reply: Reply) {
  const item = "text" in reply
    ? {
      id: "msg_1",
      type: "message",
      status: "completed",
      role: "assistant",
      content: [{ type: "output_text", text: reply.text, annotations: [] }],
    }
    : typeof reply.call.input === "string"
    ? {
      id: "ctc_1",
      type: "custom_tool_call",
      status: "completed",
      call_id: CALL_ID,
      name: reply.call.name,
      input: reply.call.input,
    }
    : {
      id: "fc_1",
      type: "function_call",
      status: "completed",
      call_id: CALL_ID,
      name: reply.call.name,
      arguments: JSON.stringify(reply.call.input),
    };
  return {
    id: "resp_1",
    object: "response",
    created_at: 1_700_000_000,
    status: "completed",
    model: "gpt-fake",
    output: [item],
    usage: {
      input_tokens: USAGE.input,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: USAGE.output,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: USAGE.input + USAGE.output,
    },
  };
}

const gemini: Dialect = {
  turns(body) {
    const { systemInstruction, contents } = record(body);
    const all = [{ ...record(systemInstruction), role: "system" }, ...list(contents).map(record)];
    return all.flatMap(({ role, parts }: Record<string, unknown>) =>
      list(parts).map(record).flatMap(({ text, functionResponse }): Turn[] => {
        const { response } = record(functionResponse);
        if (response !== undefined) {
          const { output } = record(response);
          return [{ role: "tool", text: `${output ?? JSON.stringify(response)}` }];
        }
        if (typeof text !== "string") return [];
        return [{
          role: role === "model" ? "assistant" : role === "system" ? "system" : "user",
          text,
        }];
      })
    );
  },
  tools: (body) =>
    list(record(body)["tools"]).map(record).flatMap(({ functionDeclarations }) =>
      list(functionDeclarations).map(record).map(({ name, parameters, parametersJsonSchema }) => (
        { name: `${name}`, input: record(parametersJsonSchema ?? parameters) }
      ))
    ),
  streams: (pathname) => pathname.endsWith(":streamGenerateContent"),
  whole: (reply) => geminiPart(reply, true),
  pieces(reply, sse) {
    const parts = "text" in reply ? words(reply.text).map((text) => ({ text })) : [reply];
    const chunks = parts.map((part, index) => geminiPart(part, index === parts.length - 1));
    if (!sse) return [JSON.stringify(chunks)];
    return chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\r\n\r\n`);
  },
  problem(status, message) {
    const states: Record<number, string> = {
      400: "INVALID_ARGUMENT",
      429: "RESOURCE_EXHAUSTED",
      529: "UNAVAILABLE",
    };
    return { error: { code: status, message, status: states[status] } };
  },
  keyRefused: 400,
  schema(body) {
    const { responseJsonSchema, responseSchema } = record(record(body)["generationConfig"]);
    return responseJsonSchema ?? responseSchema;
  },
  count: (pathname) => pathname.endsWith(":countTokens") ? { totalTokens: USAGE.input } : undefined,
};

function geminiPart(reply: Reply, last: boolean) {
  return {
    candidates: [{
      index: 0,
      content: {
        role: "model",
        parts: [
          "text" in reply
            ? { text: reply.text }
            : { functionCall: { name: reply.call.name, args: reply.call.input } },
        ],
      },
      ...(last ? { finishReason: "STOP" } : {}),
    }],
    ...(last
      ? {
        usageMetadata: {
          promptTokenCount: USAGE.input,
          candidatesTokenCount: USAGE.output,
          totalTokenCount: USAGE.input + USAGE.output,
        },
      }
      : {}),
    modelVersion: "gemini-fake",
  };
}

/** Each API by the paths it has, which an agent puts behind any base. */
const DIALECTS: readonly (readonly [path: RegExp, dialect: Dialect])[] = [
  [/\/messages(\/count_tokens)?$/, anthropic],
  [/\/chat\/completions$/, chatCompletions],
  [/\/responses$/, responses],
  [/\/models\/[^/]+:(streamGenerateContent|generateContent|countTokens)$/, gemini],
];

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? value as Record<string, unknown>
    : {};
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The texts of a content, which is a string or a list of parts. */
function textsOf(content: unknown): string[] {
  if (typeof content === "string") return [content];
  return list(content).map((part) => typeof part === "string" ? part : record(part)["text"])
    .filter((text) => typeof text === "string");
}
