/**
 * `chat.postMessage` against a server that misbehaves in every way one can: what is tried again,
 * what is given up, and that the token goes nowhere else.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { type Clock, systemClock } from "../../../src/base/clock.ts";
import { AppError, type ErrorCode } from "../../../src/base/errors.ts";
import { escapeText, type Post, postMessage } from "../../../src/intake/slack/api.ts";

const TOKEN = "xoxb-the-token-of-this-test";
const POST: Post = { channel: "C1", threadId: "5.1", text: "hi" };
const OK = () => Response.json({ ok: true, ts: "9.1", channel: "C1" });
const status = (code: number, headers: Record<string, string> = {}) => () =>
  new Response("<html>", { status: code, headers });

interface Got {
  readonly path: string;
  readonly authorization: string | null;
  readonly body: Record<string, unknown>;
}

/** The machine's clock, whose pauses are noted and over at once. */
function withoutPauses(): Clock & { readonly pauses: readonly number[] } {
  const pauses: number[] = [];
  return {
    ...systemClock,
    pauses,
    pause(ms, signal) {
      pauses.push(ms);
      return systemClock.pause(0, signal);
    },
  };
}

/** A server that gives these answers in turn, the last one for ever. */
function slackServer(...answers: readonly (() => Response | Promise<Response>)[]) {
  const got: Got[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const { pathname: path } = new URL(request.url);
    const authorization = request.headers.get("authorization");
    got.push({ path, authorization, body: await request.json() });
    return await (answers[got.length - 1] ?? answers.at(-1) ?? OK)();
  });
  const stopping = new AbortController();
  const quick = withoutPauses();
  return {
    got,
    stopping,
    pauses: quick.pauses,
    send: (post: Partial<Post> = {}, token: () => string = () => TOKEN, clock: Clock = quick) =>
      postMessage({ ...POST, ...post }, {
        apiUrl: `http://127.0.0.1:${(server.addr as Deno.NetAddr).port}/api`,
        token,
        clock,
        signal: stopping.signal,
      }),
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

const refusal = (code: ErrorCode, message: RegExp) => (error: unknown) => {
  ok(error instanceof AppError, String(error));
  equal(error.code, code);
  ok(message.test(error.message), error.message);
  ok(!Deno.inspect(error, { depth: 9 }).includes("xoxb"), "no token in an error");
  return true;
};

Deno.test("postMessage sends plain text to the thread, with the token in its header", async () => {
  await using slack = slackServer();
  equal(await slack.send({ text: "<!channel> & <@U1> *b* `c`" }), "9.1");
  deepEqual(slack.got, [{
    path: "/api/chat.postMessage",
    authorization: `Bearer ${TOKEN}`,
    body: {
      channel: "C1",
      thread_ts: "5.1",
      text: "&lt;!channel&gt; &amp; &lt;@U1&gt; *b* `c`",
      parse: "none",
      link_names: false,
      mrkdwn: false,
      unfurl_links: false,
      unfurl_media: false,
    },
  }]);
  await slack.send({ threadId: "" });
  equal(Object.hasOwn(slack.got[1]?.body ?? {}, "thread_ts"), false);
});

Deno.test("escapeText escapes once, and in the right order", () => {
  equal(escapeText("&lt; <a&b>"), "&amp;lt; &lt;a&amp;b&gt;");
});

/** Answers after which the post is sent again, and the pause before it in milliseconds. */
const AGAIN: Readonly<Record<string, readonly [() => Response, number]>> = {
  "429 with a pause": [status(429, { "retry-after": "2" }), 2000],
  "429 without": [status(429), 1000],
  "429 with a date": [status(429, { "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT" }), 1000],
  "429 with a negative number": [status(429, { "retry-after": "-5" }), 1000],
  "429 with nothing to wait for": [status(429, { "retry-after": "0" }), 1000],
  "500": [status(500), 1000],
  "503": [status(503, { "retry-after": "3" }), 3000],
};

for (const [name, [answer, pauseMs]] of Object.entries(AGAIN)) {
  Deno.test(`postMessage tries again after ${name}`, async () => {
    await using slack = slackServer(answer, OK);
    equal(await slack.send(), "9.1");
    equal(slack.got.length, 2);
    deepEqual(slack.pauses, [pauseMs]);
  });
}

for (const pause of ["301", "86400", "99999999", "9".repeat(400)]) {
  Deno.test(`postMessage gives up at once when it is to wait ${pause.slice(0, 12)} s`, async () => {
    await using slack = slackServer(status(429, { "retry-after": pause }));
    await rejects(
      slack.send(),
      refusal("overloaded", /status 429, and asks for a pause of \S+ s$/),
    );
    equal(slack.got.length, 1);
  });
}

Deno.test("postMessage gives up after five attempts", async () => {
  await using slack = slackServer(status(500));
  await rejects(slack.send(), refusal("overloaded", /^Slack answered with status 500$/));
  equal(slack.got.length, 5);
  equal(slack.pauses.length, 4);
});

/** Never ends by itself. */
function endless(): Response {
  const part = new TextEncoder().encode(`{"ok":true,"ts":"1","x":"${"x".repeat(60_000)}`);
  return new Response(new ReadableStream({ pull: (controller) => controller.enqueue(part) }));
}

const GIVEN_UP: Readonly<Record<string, readonly [() => Response, RegExp]>> = {
  "a word of refusal": [
    () => Response.json({ ok: false, error: "channel_not_found" }),
    /: channel_not_found$/,
  ],
  "a very long word": [() => Response.json({ ok: false, error: "x".repeat(999) }), /: x{80}$/],
  "no JSON": [() => new Response("<html>"), /status 200$/],
  "nothing": [() => new Response(""), /status 200$/],
  "JSON that is no object": [() => Response.json([true]), /status 200$/],
  "no ts": [() => Response.json({ ok: true }), /status 200$/],
  "ok in words": [() => Response.json({ ok: "true", ts: "1" }), /status 200$/],
  "401": [status(401), /status 401$/],
  "404": [status(404), /status 404$/],
  "a redirect": [status(302, { location: "http://127.0.0.1:1/" }), /status 302$/],
  "JSON without end": [endless, /status 200$/],
};

for (const [name, [answer, message]] of Object.entries(GIVEN_UP)) {
  Deno.test(`postMessage gives up at ${name}`, async () => {
    await using slack = slackServer(answer);
    await rejects(slack.send(), refusal("refused", message));
    equal(slack.got.length, 1);
  });
}

Deno.test("postMessage says where nobody answers", async () => {
  const access = { apiUrl: "http://127.0.0.1:1/api", token: () => TOKEN };
  const { signal } = new AbortController();
  await rejects(
    postMessage(POST, { ...access, clock: withoutPauses(), signal }),
    refusal("refused", /^Slack cannot be reached at http:\/\/127\.0\.0\.1:1\/api: /),
  );
});

for (const token of ["xoxb-a\n", "xoxb-a\nx: y", "xoxb a", "xoxb-\u00e9", ""]) {
  Deno.test(`postMessage sends no token ${JSON.stringify(token)}, and does not show it`, async () => {
    await using slack = slackServer();
    await rejects(slack.send({}, () => token), refusal("refused", /^The bot token has characters/));
    equal(slack.got.length, 0);
  });
}

Deno.test("postMessage takes the token as it is at each try", async () => {
  await using slack = slackServer(status(500), OK);
  const tokens = ["xoxb-old", "xoxb-new"];
  await slack.send({}, () => tokens.shift() ?? "");
  deepEqual(slack.got.map(({ authorization }) => authorization), [
    "Bearer xoxb-old",
    "Bearer xoxb-new",
  ]);
});

for (const [characters, sent] of [[40_000, 1], [40_001, 0]] as const) {
  Deno.test(`postMessage sends ${characters} characters: ${sent}`, async () => {
    await using slack = slackServer();
    const result = slack.send({ text: "😀".repeat(characters) });
    const outcome = await result.catch((error: AppError) => error.code);
    equal(outcome, sent === 1 ? "9.1" : "too_large");
    equal(slack.got.length, sent);
  });
}

Deno.test("postMessage ends at once when the daemon stops: while it waits, and while Slack thinks", async () => {
  for (const answer of [status(429, { "retry-after": "200" }), hang]) {
    await using slack = slackServer(answer);
    const sent = slack.send({}, () => TOKEN, systemClock);
    const outcome = rejects(sent, refusal("unreachable", /^The daemon is stopping/));
    while (slack.got.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    const before = hung;
    slack.stopping.abort();
    await outcome;
    equal(hung, before, "Slack has not answered");
  }
});

/** Answers that came only now. */
let hung = 0;

/** Longer than anybody waits, and not for ever: the server of the test has to end. */
function hang(): Promise<Response> {
  return new Promise((resolve) =>
    setTimeout(() => {
      hung++;
      resolve(OK());
    }, 3000)
  );
}
