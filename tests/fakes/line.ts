/**
 * A server with the part of LINE's Messaging API that svc uses
 * (https://developers.line.biz/en/reference/messaging-api/). It carries out a push once for each
 * retry key, and really sends to the webhook of a channel.
 *
 * @module
 */

import { channelRoutes, type FakeChannel } from "./line_channel.ts";

/** A push that was carried out. */
export interface FakePush {
  readonly to: string;
  readonly texts: readonly string[];
  readonly retryKey: string;
}

/** A stand-in for LINE. */
export interface FakeLine extends AsyncDisposable {
  /** Base URL, for `api:` of a Connection. */
  readonly url: string;
  readonly pushes: FakePush[];
  /** The webhook of the channel, and the calls to it. */
  readonly channel: FakeChannel;
  /** Statuses of all answers to pushes, in order. */
  readonly statuses: number[];
  /** Answers in the place of the server; `carryOut` carries the push out. */
  interfere: ((carryOut: () => Response) => Response | undefined) | undefined;
}

/** The token of the channel. */
export const LINE_TOKEN = "line-channel-access-token-of-these-tests";

export function fakeLine(): FakeLine {
  const ended = new AbortController();
  const pushes: FakePush[] = [];
  const statuses: number[] = [];
  const channel = channelRoutes(LINE_TOKEN);
  const fake = { interfere: undefined as FakeLine["interfere"] };
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {}, signal: ended.signal },
    async (request) => {
      const body = await request.json().catch(() => ({}));
      const answered = await channel.answer(request, body);
      if (answered !== undefined) return answered;
      const carryOut = () => push(request, body, pushes);
      const answer = fake.interfere?.(carryOut) ?? carryOut();
      statuses.push(answer.status);
      return answer;
    },
  );
  return Object.assign(fake, {
    url: `http://127.0.0.1:${(server.addr as Deno.NetAddr).port}`,
    pushes,
    statuses,
    channel: channel.state,
    async [Symbol.asyncDispose]() {
      ended.abort();
      await server.finished;
    },
  });
}

interface PushBody {
  readonly to?: unknown;
  readonly messages?: readonly { readonly type: string; readonly text: string }[];
}

function push(request: Request, { to, messages = [] }: PushBody, pushes: FakePush[]): Response {
  if (new URL(request.url).pathname !== "/v2/bot/message/push") return problem(404, "Not found");
  if (request.headers.get("authorization") !== `Bearer ${LINE_TOKEN}`) {
    return problem(401, "Authentication failed. Confirm that the access token is valid.");
  }
  const retryKey = request.headers.get("x-line-retry-key") ?? "";
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(retryKey)) {
    return problem(400, "Invalid retry key");
  }
  const isWrong = messages.length === 0 || messages.length > 5 ||
    messages.some(({ type, text }) => type !== "text" || text === "" || text.length > 5000);
  if (typeof to !== "string" || isWrong) return problem(400, "The request body has 1 error(s)");
  const sentMessages = messages.map((_, at) => ({ id: String(461230966842064000 + at) }));
  if (pushes.some((one) => one.retryKey === retryKey)) {
    const message = "The retry key is already accepted";
    return Response.json({ message, sentMessages }, { status: 409 });
  }
  pushes.push({ to, texts: messages.map(({ text }) => text), retryKey });
  return Response.json({ sentMessages });
}

/** An error as LINE writes it. */
export function problem(status: number, message: string): Response {
  return Response.json({ message }, { status });
}
