/**
 * `chat.postMessage` against a server that misbehaves in every way one can: what may be tried again,
 * what is given up, and that the token goes nowhere else.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { systemClock } from "../../../src/base/clock.ts";
import {
  escapeText,
  isTooLong,
  type Post,
  postMessage,
  type PostResult,
} from "../../../src/connections/slack/post_message.ts";

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

/** A server that gives this answer to whatever comes. */
function slackServer(answer: () => Response | Promise<Response> = OK) {
  const got: Got[] = [];
  const ended = new AbortController();
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {}, signal: ended.signal },
    async (request) => {
      const { pathname: path } = new URL(request.url);
      const authorization = request.headers.get("authorization");
      got.push({ path, authorization, body: await request.json() });
      return await answer();
    },
  );
  const stopping = new AbortController();
  return {
    got,
    stopping,
    send: (post: Partial<Post> = {}) =>
      postMessage({ ...POST, ...post }, {
        apiUrl: `http://127.0.0.1:${(server.addr as Deno.NetAddr).port}/api`,
        token: TOKEN,
        clock: systemClock,
        signal: stopping.signal,
      }),
    async [Symbol.asyncDispose]() {
      ended.abort();
      await server.finished;
    },
  };
}

const refused = (posted: PostResult) => {
  ok(!posted.posted);
  ok(!JSON.stringify(posted).includes("xoxb"), "no token in a reason");
  return posted;
};

Deno.test("postMessage sends plain text to the thread, with the token in its header", async () => {
  await using slack = slackServer();
  deepEqual(await slack.send({ text: "<!channel> & <@U1> *b* `c`" }), { posted: true, ts: "9.1" });
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

/** Answers after which the post may be sent again, and the pause that is asked for in seconds. */
const AGAIN: Readonly<Record<string, readonly [() => Response, number | undefined]>> = {
  "429 with a pause": [status(429, { "retry-after": "2" }), 2],
  "429 with a long pause": [status(429, { "retry-after": "86400" }), 3600],
  "429 without": [status(429), 1],
  "429 with a date": [status(429, { "retry-after": "Wed, 21 Oct 2015 07:28:00 GMT" }), 1],
  "429 with a negative number": [status(429, { "retry-after": "-5" }), 1],
  "429 with nothing to wait for": [status(429, { "retry-after": "0" }), 1],
  "500": [status(500), undefined],
  "503": [status(503, { "retry-after": "3" }), 3],
};

for (const [name, [answer, afterSecs]] of Object.entries(AGAIN)) {
  Deno.test(`a post may be sent again after ${name}`, async () => {
    await using slack = slackServer(answer);
    const posted = refused(await slack.send());
    deepEqual([posted.isTemporary, posted.afterSecs, posted.mayHaveArrived], [
      true,
      afterSecs,
      false,
    ]);
    equal(slack.got.length, 1, "who waits and sends again is the outbox");
  });
}

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
  "a redirect": [status(302, { location: "http://127.0.0.1:65535/" }), /status 302$/],
  "JSON without end": [endless, /status 200$/],
};

for (const [name, [answer, message]] of Object.entries(GIVEN_UP)) {
  Deno.test(`a post is given up at ${name}`, async () => {
    await using slack = slackServer(answer);
    const posted = refused(await slack.send());
    match(posted.reason, message);
    equal(posted.isTemporary, false);
  });
}

Deno.test("postMessage names the address that does not answer, and says that nothing can have arrived", async () => {
  const { signal } = new AbortController();
  const access = { apiUrl: "http://127.0.0.1:65535/api", token: TOKEN, clock: systemClock, signal };
  const posted = refused(await postMessage(POST, access));
  match(posted.reason, /127\.0\.0\.1:65535/);
  deepEqual([posted.isTemporary, posted.mayHaveArrived], [true, false]);
});

Deno.test("a call that is given up while Slack thinks may have been carried out", async () => {
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  await using slack = slackServer(() => {
    resolve();
    return new Promise<Response>(() => {});
  });
  const sent = slack.send();
  await asked;
  slack.stopping.abort();
  const posted = refused(await sent);
  deepEqual([posted.isTemporary, posted.mayHaveArrived], [true, true]);
});

Deno.test("a text is too long beyond Slack's 40,000 characters, however many bytes they have", () => {
  for (const [characters, tooLong] of [[40_000, false], [40_001, true]] as const) {
    equal(isTooLong("😀".repeat(characters)), tooLong);
  }
});
