/**
 * The messages of Notifications against servers of this machine: what they send, and what becomes of
 * each answer.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { email, serverOptions } from "../../src/outbox/email.ts";
import type { MessageKind, SendHost, SendResult } from "../../src/outbox/message_kind.ts";
import { webhook } from "../../src/outbox/webhook.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import type { NotificationSpec, NotificationTarget } from "../../src/resources/notification.ts";
import { standardWebhooksSignature } from "../../src/signatures/standard_webhooks.ts";
import { fakeSmtp } from "../fakes/smtp.ts";
import { ManualClock } from "../helpers/manual_clock.ts";
import { outboxMessage } from "../helpers/outbox_message.ts";
import { storeOf } from "../helpers/known_secrets.ts";

const WHSEC = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const ID = "01900000-0000-7000-8000-000000000001";

const BODY = {
  kind: "task.failed",
  title: "Workflow review failed",
  text: "exit 1\nsvc task logs 019",
  data: { task: "019" },
  time: "2026-11-22T21:00:00.000Z",
};

const FROM = (key: string) => ({ fromSecret: { store: "keys", key } });

async function trySending(
  kind: MessageKind,
  target: NotificationTarget,
  given: { body?: Record<string, unknown>; keys?: Record<string, string> } = {},
): Promise<SendResult> {
  const spec: NotificationSpec = { on: ["task.failed"], to: [target] };
  const resource = { kind: "Notification", project: "default", name: "me", metadata: {}, spec };
  const times = { generation: 1, createdAt: 0, updatedAt: 0 };
  const catalog = new Catalog([
    Object.assign({}, resource, times),
    storeOf("keys", given.keys ?? { sign: WHSEC }),
  ]);
  const message = outboxMessage({
    id: ID,
    kind: kind.name,
    target: { notification: "me", to: 1 },
    body: Object.assign({}, BODY, given.body),
    state: "pending",
  });
  const { signal } = new AbortController();
  const clock = new ManualClock();
  const host: Pick<SendHost, "catalog" | "clock" | "signal"> = { catalog, clock, signal };
  // They use nothing else of it.
  return await kind.send({ message, lane: "", previousId: "" }, host as SendHost);
}

interface Received {
  readonly path: string;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** A server that answers every POST by its path alone. */
function server(answer: (path: string) => Response) {
  const received: Received[] = [];
  const running = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => {
      const { pathname, search } = new URL(request.url);
      const body = new Uint8Array(await request.arrayBuffer());
      const path = pathname + search;
      received.push({ path, headers: request.headers, body });
      return answer(path);
    },
  );
  const url = `http://127.0.0.1:${running.addr.port}`;
  return { url, received, [Symbol.asyncDispose]: () => running.shutdown() };
}

const utf8 = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

Deno.test("a webhook is JSON, signed as Standard Webhooks are", async () => {
  await using it = server(() => new Response(null, { status: 204 }));
  const tried = await trySending(webhook, {
    webhook: { url: `${it.url}/hook?a=1`, secret: FROM("sign") },
  });
  deepEqual(tried, { result: "sent", externalId: "" });
  const [request] = it.received;
  ok(request !== undefined);
  equal(request.path, "/hook?a=1");
  equal(request.headers.get("content-type"), "application/json");
  equal(request.headers.get("webhook-id"), ID);
  deepEqual(JSON.parse(utf8(request.body)), {
    type: "task.failed",
    timestamp: BODY.time,
    title: BODY.title,
    message: BODY.text,
    data: BODY.data,
  });
  const verify = (body: Uint8Array<ArrayBuffer>) =>
    standardWebhooksSignature.verify(
      {
        body,
        header: (name) => request.headers.get(name) ?? undefined,
        now: new ManualClock().now(),
        url: "",
        arrivedUrl: "",
      },
      [{ name: "sign", value: WHSEC }],
      { signatureHeader: "webhook-signature", toleranceSecs: 300 },
    );
  equal((await verify(request.body)).ok, true);
  equal((await verify(new Uint8Array([...request.body, 32]))).ok, false);
});

Deno.test("a webhook as text is what a service such as ntfy shows", async () => {
  await using it = server(() => new Response("ok"));
  const url = FROM("url");
  const keys = { url: `${it.url}/topic?auth=secret` };
  await trySending(webhook, { webhook: { url, format: "text" } }, { keys });
  const [request] = it.received;
  equal(request?.path, "/topic?auth=secret");
  equal(request?.headers.get("webhook-signature"), null);
  equal(utf8(request?.body ?? new Uint8Array()), `${BODY.title}\n${BODY.text}\n`);
});

const ANSWERS: readonly (readonly [name: string, Response, result: string, reason: RegExp])[] = [
  [
    "404",
    new Response("no such\ntopic", { status: 404 }),
    "refused",
    /answered 404: no such topic/,
  ],
  ["401", new Response("", { status: 401 }), "refused", /answered 401$/],
  ["503", new Response("", { status: 503 }), "later", /answered 503/],
  ["429", new Response("", { status: 429, headers: { "retry-after": "7" } }), "later", /429/],
  [
    "302",
    new Response("", { status: 302, headers: { location: "https://other.example/x?t=s" } }),
    "refused",
    /redirects to other\.example: use that address/,
  ],
];

Deno.test("an answer decides whether a webhook is tried again", async () => {
  for (const [name, response, result, reason] of ANSWERS) {
    await using it = server(() => response.clone());
    const tried = await trySending(webhook, { webhook: { url: `${it.url}/secret-path` } });
    equal(tried.result, result, name);
    ok(tried.result !== "sent");
    match(tried.reason, reason);
    equal(tried.reason.includes("secret-path"), false, "the path may be a secret");
    if (name === "429") equal("afterSecs" in tried ? tried.afterSecs : undefined, 7);
  }
});

/** What servers say that name the address in their answers, each in another way. */
const ECHOES: readonly (readonly [what: string, status: number, say: (path: string) => string])[] =
  [
    ["as it is", 403, (path) => `Cannot POST ${path}`],
    ["in capitals", 404, (path) => `NO ROUTE ${path.toUpperCase()}`],
    ["in pieces", 400, (path) => path.split("").join(" ")],
    ["backwards", 500, (path) => [...path].reverse().join("")],
    ["as JSON", 429, (path) => JSON.stringify({ error: path.split("/") })],
  ];

Deno.test("of what an address from a SecretStore answers the status alone is kept", async (t) => {
  for (const [what, status, say] of ECHOES) {
    await t.step(what, async () => {
      await using it = server((path) => new Response(say(path), { status }));
      const url = `${it.url}/hooks/blue-owl?via=k7`;
      const { host } = new URL(url);
      const hidden = await trySending(webhook, { webhook: { url: FROM("url") } }, {
        keys: { url },
      });
      ok("reason" in hidden);
      equal(hidden.reason, `${host} answered ${status}`);
      const plain = await trySending(webhook, { webhook: { url } });
      ok("reason" in plain);
      equal(plain.reason, `${host} answered ${status}: ${say("/hooks/blue-owl?via=k7")}`);
      equal(plain.result, hidden.result);
    });
  }
});

Deno.test("a webhook that cannot be sent says what to do", async () => {
  const refusals: readonly (readonly [NotificationTarget, Record<string, string>, RegExp])[] = [
    [
      { webhook: { url: FROM("url") } },
      {},
      /has no key "url": set it with svc secret set keys url/,
    ],
    [
      { webhook: { url: FROM("url") } },
      { url: "ntfy.sh/x" },
      /is not an http\(s\) URL: set it again/,
    ],
    [
      { webhook: { url: "http://127.0.0.1:9/", secret: FROM("sign") } },
      { sign: "not base64!" },
      /"sign" is not in the form/,
    ],
    [
      { email: { server: "smtp://127.0.0.1:9", from: "a@b.c", to: ["d@e.f"] } },
      {},
      /no longer a webhook/,
    ],
  ];
  for (const [target, keys, reason] of refusals) {
    const tried = await trySending(webhook, target, { keys });
    equal(tried.result, "refused");
    match(tried.result === "refused" ? tried.reason : "", reason);
  }
  const away = await trySending(webhook, { webhook: { url: "http://127.0.0.1:9/" } });
  equal(away.result, "later");
});

Deno.test("where TLS fails nothing is said, and it is tried again", async () => {
  await using it = server(() => new Response("ok"));
  const url = it.url.replace("http:", "https:");
  const posted = await trySending(webhook, { webhook: { url: `${url}/secret-path` } });
  equal(posted.result, "later");
  ok("reason" in posted);
  match(posted.reason, /^No secure connection to 127\.0\.0\.1:/);
  equal(it.received.length, 0);
  await using smtp = fakeSmtp();
  const { email: target } = mailTarget(smtp.port);
  ok(target !== undefined);
  const secureServer = `smtps://127.0.0.1:${smtp.port}`;
  const mailed = await trySending(email, {
    email: Object.assign({}, target, { server: secureServer }),
  });
  equal(mailed.result, "later");
  equal(smtp.mails.length, 0);
});

function mailTarget(port: number, host = "127.0.0.1"): NotificationTarget {
  return {
    email: {
      server: `smtp://${host}:${port}`,
      from: "svc <svc@example.com>",
      to: ["ada@example.com", "bo@example.com"],
    },
  };
}

Deno.test("a mail arrives at everybody, and a line break makes no header", async () => {
  await using smtp = fakeSmtp();
  const title = "failed\r\nBcc: evil@example.com";
  const tried = await trySending(email, mailTarget(smtp.port), { body: { title } });
  deepEqual(tried, { result: "sent", externalId: `<${ID}@example.com>` });
  const [mail] = smtp.mails;
  deepEqual([mail?.from, mail?.to], ["svc@example.com", ["ada@example.com", "bo@example.com"]]);
  const [head = "", text = ""] = mail?.data.split("\r\n\r\n") ?? [];
  match(head, /^Subject: failed Bcc: evil@example\.com$/m);
  equal(/^Bcc:/mi.test(head), false);
  match(head, new RegExp(`^Message-ID: <${ID}@example\\.com>$`, "mi"));
  match(text, /exit 1/);
});

Deno.test("a mail is sent with the user and the password of its server", async () => {
  await using smtp = fakeSmtp();
  const { email: target } = mailTarget(smtp.port);
  ok(target !== undefined);
  const own = Object.assign({}, target, { user: "svc", password: FROM("password") });
  const keys = { password: "s3cret" };
  equal((await trySending(email, { email: own }, { keys })).result, "sent");
  equal(smtp.mails[0]?.auth, "svc s3cret");
  smtp.answers = { auth: "535 5.7.8 wrong" };
  const refused = await trySending(email, { email: own }, { keys });
  equal(refused.result, "refused");
  match(refused.result === "refused" ? refused.reason : "", /535 5\.7\.8 wrong/);
});

Deno.test("a mail that is refused is given up, one that is put off is tried again", async () => {
  const cases = [
    [{ rcpt: "550 5.1.1 no such user" }, "refused", /550 5\.1\.1 no such user/],
    [{ data: "554 spam" }, "refused", /554 spam/],
    [{ rcpt: "450 4.2.1 later" }, "later", /450/],
    [{ greeting: "421 busy" }, "later", /421/],
  ] as const;
  for (const [answers, result, reason] of cases) {
    await using smtp = fakeSmtp(answers);
    const tried = await trySending(email, mailTarget(smtp.port));
    equal(tried.result, result, JSON.stringify(answers));
    ok("reason" in tried);
    match(tried.reason, reason);
  }
  equal((await trySending(email, mailTarget(9))).result, "later", "nothing listens");
});

Deno.test("a mail goes in the clear to this machine only", async () => {
  await using smtp = fakeSmtp({}, "127.0.0.2");
  const tried = await trySending(email, mailTarget(smtp.port, "127.0.0.2"));
  equal(tried.result, "refused");
  match(tried.result === "refused" ? tried.reason : "", /STARTTLS|TLS/i);
  equal(smtp.mails.length, 0);
  deepEqual(serverOptions("smtp://mail.example.com"), {
    host: "mail.example.com",
    port: 587,
    secure: false,
    requireTLS: true,
  });
  deepEqual(serverOptions("smtps://mail.example.com"), {
    host: "mail.example.com",
    port: 465,
    secure: true,
    requireTLS: false,
  });
  equal(serverOptions("smtp://[::1]:25").requireTLS, false);
});
