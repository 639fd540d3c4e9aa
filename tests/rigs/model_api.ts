/**
 * A stand-in for the APIs of models, on loopback: Anthropic's messages, OpenAI's chat completions and
 * responses, Gemini's generateContent, each as JSON and as a stream. Real agents run against it.
 *
 * @module
 */

import {
  type Dialect,
  dialectOf,
  type Reply,
  sampleOf,
  shellCall,
  type Turn,
} from "./model_dialects.ts";

/**
 * What the API does. `tool`: it asks for one run of a shell command, and answers with what that
 * printed. `slow`: it waits before each piece of its answer. `redirect`: it sends the client to
 * another path. `nothing`: it takes the request and never answers.
 */
export type Scenario =
  | "ok"
  | "tool"
  | "429"
  | "401"
  | "529"
  | "slow"
  | "redirect"
  | "nothing";

/** A request that arrived. */
export interface ModelRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The key of the API, from whichever header or parameter names it; empty without one. */
  readonly key: string;
  /** As parsed JSON, or as text. */
  readonly body: unknown;
  /** The conversation so far: who said what. Empty where the request has none. */
  readonly turns: readonly Turn[];
}

export interface ModelApi extends AsyncDisposable {
  /** Base URL, without a slash at its end. */
  readonly url: string;
  /** Every request so far. */
  readonly requests: readonly ModelRequest[];
  /** The requests that ask for an answer to a conversation. */
  asked(): readonly ModelRequest[];
  scenario: Scenario;
  /** What the model says. */
  text: string;
  /** The command that `tool` asks for. */
  command: string;
  /** The only key that is taken; any when undefined. */
  key: string | undefined;
  /** `retry-after` of 429 and 529, in seconds. */
  retryAfter: number;
  /** What `slow` waits before each piece, in milliseconds. */
  pause: number;
}

export interface ModelApiOptions
  extends
    Partial<Pick<ModelApi, "scenario" | "text" | "command" | "key" | "retryAfter" | "pause">> {
  /** 0, the default, takes a free one. */
  readonly port?: number;
}

/** Starts the API; disposing of it ends it, with the requests that it never answered. */
export function modelApi({ port = 0, ...given }: ModelApiOptions = {}): ModelApi {
  const ended = new AbortController();
  const requests: ModelRequest[] = [];
  const api = {
    scenario: "ok" as Scenario,
    text: "All of it is done.",
    command: "echo from-the-shell",
    key: undefined as string | undefined,
    retryAfter: 7,
    pause: 50,
    ...given,
  };
  const server = Deno.serve(
    { port, hostname: "127.0.0.1", onListen() {}, signal: ended.signal },
    async (request) => {
      const { pathname, search } = new URL(request.url);
      const dialect = request.method === "POST" ? dialectOf(pathname) : undefined;
      const body = parsed(await request.text());
      const key = keyOf(request);
      requests.push({
        method: request.method,
        path: `${pathname}${search}`,
        headers: Object.fromEntries(request.headers),
        key,
        body,
        turns: dialect?.turns(body) ?? [],
      });
      if (dialect === undefined) return unasked(pathname);
      if (api.key !== undefined && api.key !== key) return refusal(dialect, "401", api.retryAfter);
      return await answer(api, dialect, { pathname, search, body }, ended.signal);
    },
  );
  return Object.assign(api, {
    url: `http://127.0.0.1:${(server.addr as Deno.NetAddr).port}`,
    requests,
    asked: () => requests.filter(({ turns }) => turns.length > 0),
    async [Symbol.asyncDispose]() {
      ended.abort();
      await server.finished;
    },
  });
}

type State = Pick<ModelApi, "scenario" | "text" | "command" | "retryAfter" | "pause">;

interface Asked {
  readonly pathname: string;
  readonly search: string;
  readonly body: unknown;
}

async function answer(
  api: State,
  dialect: Dialect,
  { pathname, search, body }: Asked,
  ended: AbortSignal,
): Promise<Response> {
  const { scenario } = api;
  if (scenario === "429" || scenario === "401" || scenario === "529") {
    return refusal(dialect, scenario, api.retryAfter);
  }
  if (scenario === "redirect") {
    return new Response(null, { status: 307, headers: { location: `/elsewhere${pathname}` } });
  }
  if (scenario === "nothing") {
    await new Promise<void>((resolve) => ended.addEventListener("abort", () => resolve()));
    return new Response(null, { status: 503 });
  }
  const count = dialect.count?.(pathname);
  if (count !== undefined) return Response.json(count);
  const reply = decide(api, dialect, body);
  if (!dialect.streams(pathname, body)) return Response.json(dialect.whole(reply));
  const pieces = dialect.pieces(reply, new URLSearchParams(search).get("alt") === "sse");
  return new Response(stream(pieces, scenario === "slow" ? api.pause : 0), {
    headers: { "content-type": "text/event-stream", "cache-control": "no-cache" },
  });
}

/** A call of the agent's shell, once; then words. Requests without a shell tool are side questions. */
function decide({ scenario, text, command }: State, dialect: Dialect, body: unknown): Reply {
  const schema = dialect.schema?.(body);
  if (schema !== undefined) return { text: JSON.stringify(sampleOf(schema)) };
  if (scenario !== "tool") return { text };
  const printed = dialect.turns(body).findLast(({ role }) => role === "tool");
  if (printed !== undefined) return { text: `The shell said: ${printed.text.trim()}` };
  const call = shellCall(dialect.tools(body), command);
  return call === undefined ? { text } : { call };
}

function refusal(dialect: Dialect, scenario: "401" | "429" | "529", retryAfter: number): Response {
  if (scenario === "401") {
    const status = dialect.keyRefused ?? 401;
    const problem = dialect.problem(status, "API key not valid. Please pass a valid API key.");
    return Response.json(problem, { status });
  }
  const [status, message] = scenario === "429"
    ? [429, "You have reached your rate limit."]
    : [529, "Overloaded"];
  const headers = { "retry-after": `${retryAfter}` };
  return Response.json(dialect.problem(status, message), { status, headers });
}

/** What agents look up besides: which models there are, whether anybody is there. */
function unasked(pathname: string): Response {
  if (!pathname.endsWith("/models")) return Response.json({}, { status: 404 });
  return Response.json({ object: "list", data: [], models: [] });
}

function keyOf(request: Request): string {
  const { headers } = request;
  return headers.get("x-api-key") ?? headers.get("x-goog-api-key") ??
    headers.get("authorization")?.replace(/^Bearer /, "") ??
    new URL(request.url).searchParams.get("key") ?? "";
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function stream(pieces: readonly string[], pause: number): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let next = 0;
  return new ReadableStream({
    async pull(controller) {
      if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause));
      const piece = pieces[next++];
      if (piece === undefined) controller.close();
      else controller.enqueue(encoder.encode(piece));
    },
  });
}
