/**
 * A server with the parts of Slack's Web API and Socket Mode that svc uses
 * (https://docs.slack.dev/reference/methods,
 * https://docs.slack.dev/apis/events-api/using-socket-mode). It keeps the calls that arrived, and a
 * test can make it refuse, slow down, fall silent or close sockets.
 *
 * @module
 */

import { type WebSocket, WebSocketServer } from "ws";

/** A token, and what it may do. */
export interface FakeSlackToken {
  readonly token: string;
  readonly scopes: readonly string[];
}

/** The token of the bot when a test names none. */
export const BOT_TOKEN: FakeSlackToken = {
  token: "xoxb-fake-0123456789",
  scopes: [
    "app_mentions:read",
    "channels:history",
    "chat:write",
    "commands",
    "groups:history",
    "im:history",
  ],
};

/** The app-level token when a test names none. */
export const APP_TOKEN: FakeSlackToken = {
  token: "xapp-fake-0123456789",
  scopes: ["connections:write"],
};

/** One call that arrived. */
export interface FakeSlackCall {
  /** Name of the method, such as `chat.postMessage`. */
  readonly method: string;
  readonly token: string;
  readonly body: Record<string, unknown>;
}

/** An acknowledgement as it arrived. */
export type Acknowledged = { readonly envelope_id: string; readonly payload?: unknown };

/** An envelope for a socket. */
export interface Envelope {
  /** `events_api` when absent. */
  readonly type?: string;
  readonly payload: unknown;
  /** Number of the repetition. */
  readonly attempt?: number;
}

/** One socket of the app. */
export interface FakeLine {
  /** Sends a text frame: a string as it is, any other value as JSON. */
  send(frame: unknown): void;
  /** Sends a binary frame. */
  sendBytes(frame: Uint8Array): void;
  /**
   * Sends an envelope; resolves with its acknowledgement, or `undefined` when the socket closes.
   */
  deliver(sent: Envelope): Promise<Acknowledged | undefined>;
  ping(): void;
  /** Closes it with a closing handshake. */
  close(): void;
  /** Closes it without a closing handshake. */
  drop(): void;
  /** Resolves when it is closed. */
  readonly ended: Promise<void>;
}

/** Options of {@linkcode fakeSlack}. */
export interface FakeSlackOptions {
  readonly bot?: FakeSlackToken;
  readonly app?: FakeSlackToken;
}

/** A stand-in for Slack. */
export interface FakeSlack extends AsyncDisposable {
  /** Base URL of the Web API, for `api:` of a Connection. */
  readonly url: string;
  readonly calls: FakeSlackCall[];
  /** Sockets that are open, oldest first. */
  readonly lines: FakeLine[];
  /** Number of sockets opened so far. */
  readonly opened: () => number;
  /** The next socket to be opened. */
  next(): Promise<FakeLine>;
  /** Answers in the place of a method; the last one set counts. */
  interfere: ((call: FakeSlackCall) => Response | Promise<Response> | undefined) | undefined;
  /** The first frame to a new socket. */
  greeting: "hello" | "link_disabled" | "nothing";
  /** Sockets of other programs, which count towards the limit. */
  others: number;
}

/** Most sockets of one app. */
const MAX_LINES = 10;

export function fakeSlack(options: FakeSlackOptions = {}): FakeSlack {
  const { bot = BOT_TOKEN, app = APP_TOKEN } = options;
  const calls: FakeSlackCall[] = [];
  const lines: FakeLine[] = [];
  const tickets = new Set<string>();
  let awaited = Promise.withResolvers<FakeLine>();
  let opened = 0;
  let posted = 0;
  const posts = new Set<string>();

  const sockets = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  const listening = new Promise<void>((resolve) => sockets.once("listening", resolve));
  interface Upgrade {
    readonly url?: string;
    readonly socket: { _writev?: unknown };
  }
  sockets.on("connection", (socket: WebSocket, request: Upgrade) => {
    request.socket._writev = null; // see src/connections/slack/websocket.ts
    const ticket = new URL(request.url ?? "", "ws://fake").searchParams.get("ticket") ?? "";
    if (!tickets.delete(ticket)) return socket.close(1008, "ticket");
    opened++;
    const line = lineOf(socket);
    const count = lines.length + fake.others + 1;
    if (count > MAX_LINES) {
      line.send({ type: "disconnect", reason: "too_many_websockets" });
      return line.close();
    }
    lines.push(line);
    line.ended.then(() => void lines.splice(lines.indexOf(line), 1));
    if (fake.greeting === "link_disabled") {
      line.send({ type: "disconnect", reason: "link_disabled" });
    } else if (fake.greeting === "hello") {
      line.send({
        type: "hello",
        num_connections: count,
        debug_info: { host: "applink-1", build_number: 1, approximate_connection_time: 18060 },
        connection_info: { app_id: "A0001" },
      });
    }
    awaited.resolve(line);
    awaited = Promise.withResolvers();
  });

  function answer(call: FakeSlackCall): Response {
    const known = [bot, app].find(({ token }) => token === call.token);
    if (known === undefined) return refusal(call.token === "" ? "not_authed" : "invalid_auth");
    switch (call.method) {
      case "auth.test":
        return succeeded(known, {
          url: "https://fake.slack.com/",
          team: "Fake",
          team_id: "T0001",
          ...(known === bot ? { user: "svc", user_id: "U0BOT", bot_id: "B0001" } : {}),
        });
      case "apps.connections.open": {
        const refused = check(known, app, "connections:write");
        if (refused !== undefined) return refused;
        const ticket = crypto.randomUUID();
        tickets.add(ticket);
        const { port } = sockets.address() as { port: number };
        return succeeded(known, {
          url: `ws://127.0.0.1:${port}/link/?ticket=${ticket}&app_id=A0001`,
        });
      }
      case "chat.postMessage": {
        const refused = check(known, bot, "chat:write");
        if (refused !== undefined) return refused;
        const { channel, text } = call.body;
        if (typeof channel !== "string" || !/^[CDG][A-Z0-9]+$/.test(channel)) {
          return refusal("channel_not_found");
        }
        if (typeof text !== "string" || text === "") return refusal("no_text");
        const ts = `1700000100.${String(++posted).padStart(6, "0")}`;
        posts.add(`${channel} ${ts}`);
        return succeeded(known, { channel, ts, message: { text, ts, bot_id: "B0001" } });
      }
      case "chat.update": {
        const { channel, ts, text } = call.body;
        if (!posts.has(`${channel} ${ts}`)) return refusal("message_not_found");
        return succeeded(known, { channel, ts, text });
      }
      case "chat.postEphemeral": {
        const refused = check(known, bot, "chat:write");
        if (refused !== undefined) return refused;
        return succeeded(known, { message_ts: `1700000200.${String(++posted).padStart(6, "0")}` });
      }
      default:
        return refusal("unknown_method");
    }
  }

  const ended = new AbortController();
  const server = Deno.serve({
    port: 0,
    hostname: "127.0.0.1",
    signal: ended.signal,
    onListen() {},
    onError: () => new Response(null, { status: 500 }),
  }, async (request) => {
    await listening;
    const [, method = ""] = /^\/api\/([\w.]+)$/.exec(new URL(request.url).pathname) ?? [];
    const token = request.headers.get("authorization")?.replace(/^Bearer /, "") ?? "";
    const call = { method, token, body: await request.json().catch(() => ({})) };
    calls.push(call);
    return await fake.interfere?.(call) ?? answer(call);
  });

  const fake: FakeSlack = {
    url: `http://127.0.0.1:${(server.addr as Deno.NetAddr).port}/api`,
    calls,
    lines,
    opened: () => opened,
    next: () => awaited.promise,
    interfere: undefined,
    greeting: "hello",
    others: 0,
    async [Symbol.asyncDispose]() {
      ended.abort(); // also sockets that a test left open
      for (const one of sockets.clients) one.terminate();
      await new Promise((resolve) => sockets.close(resolve));
      await server.finished;
    },
  };
  return fake;
}

/** An error as Slack writes it; with status 200, as nearly all of them come. */
export function refusal(error: string, more: Record<string, unknown> = {}): Response {
  return Response.json({ ok: false, error, ...more });
}

/** The answer to too many calls. */
export function rateLimited(secs: number): Response {
  const headers = { "retry-after": String(secs) };
  return Response.json({ ok: false, error: "ratelimited" }, { status: 429, headers });
}

function succeeded({ scopes }: FakeSlackToken, data: Record<string, unknown>): Response {
  return Response.json({ ok: true, ...data }, { headers: { "x-oauth-scopes": scopes.join(",") } });
}

function check(
  given: FakeSlackToken,
  needed: FakeSlackToken,
  scope: string,
): Response | undefined {
  if (given !== needed) return refusal("not_allowed_token_type");
  if (given.scopes.includes(scope)) return undefined;
  return refusal("missing_scope", { needed: scope, provided: given.scopes.join(",") });
}

function lineOf(socket: WebSocket): FakeLine {
  const waiting = new Map<string, (ack: Acknowledged | undefined) => void>();
  const ended = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  socket.on("message", (data: Uint8Array) => {
    const ack = JSON.parse(new TextDecoder().decode(data)) as Acknowledged;
    waiting.get(ack.envelope_id)?.(ack);
  });
  ended.then(() => waiting.forEach((resolve) => resolve(undefined)));
  const send = (frame: unknown) =>
    socket.send(typeof frame === "string" ? frame : JSON.stringify(frame));
  return {
    send,
    sendBytes: (frame) => socket.send(frame),
    deliver({ type = "events_api", payload, attempt }) {
      const envelope_id = crypto.randomUUID();
      const { promise, resolve } = Promise.withResolvers<Acknowledged | undefined>();
      waiting.set(envelope_id, resolve);
      const retry = attempt === undefined
        ? {}
        : { retry_attempt: attempt, retry_reason: "timeout" };
      send({
        envelope_id,
        payload,
        type,
        accepts_response_payload: type !== "events_api",
        ...retry,
      });
      return promise;
    },
    ping: () => socket.ping(),
    close: () => socket.close(1000),
    drop: () => socket.terminate(),
    ended,
  };
}
