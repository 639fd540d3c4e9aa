/**
 * The webhook server on a real socket: what reaches the pipeline of what was written on the wire.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { type HttpServer, serve } from "../../src/http/server/serve.ts";
import { MANIFEST, type Rig, sign, webhookRig } from "../rigs/webhook_rig.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { within } from "../helpers/within.ts";
import { ask, RawClient } from "../helpers/raw_client.ts";

const BODY = '{"a":1}';
const LOG = { debug() {}, info() {}, warn() {}, error() {} };

/** A connection that was cut is gone a moment later, which the sanitizers take for a leak. */
const LOOSE = { sanitizeOps: false, sanitizeResources: false };

/** A test with a server of its own on a free port. */
function test(
  name: string,
  body: (port: number, rig: Rig, server: HttpServer) => Promise<void>,
): void {
  Deno.test(name, LOOSE, async () => {
    await using rig = await webhookRig({ manifest: MANIFEST, maxBytes: 100_000, deadlineMs: 1500 });
    const server = await serve({
      on: { hostname: "127.0.0.1", port: 0 },
      handler: rig.handler,
      log: LOG,
      drainMs: 500,
    });
    try {
      await body(server.port, rig, server);
    } finally {
      await within(5000, server[Symbol.asyncDispose]());
    }
  });
}

/** A signed request, line by line; `headers` come after those every request has. */
function request(
  line: string,
  headers: readonly string[] = [],
  body: string = BODY,
  signed: string = body,
): string {
  const own = Object.entries(sign(signed)).map(([name, value]) => `${name}: ${value}`);
  const length = headers.some((one) => /^(content-length|transfer-encoding):/i.test(one))
    ? []
    : [`Content-Length: ${body.length}`];
  const host = headers.some((one) => /^host:/i.test(one)) ? [] : ["Host: 127.0.0.1"];
  return [line, ...host, ...own, ...length, ...headers, "", body].join("\r\n");
}

const POST = "POST /webhook/push HTTP/1.1";

test("POST /webhook/{trigger} over TCP is answered once the task is stored", async (port, rig) => {
  const answer = await ask(port, request(POST));
  equal(answer?.status, 200);
  const { task_id } = JSON.parse(answer?.body ?? "");
  deepEqual((await rig.tasks()).map(({ id }) => id), [task_id]);
  equal((await rig.deliveries())[0]?.remote, "127.0.0.1");
});

test("a body in chunks is one body", async (port, rig) => {
  const chunks = [...BODY].map((character) => `1\r\n${character}\r\n`).join("");
  const answer = await ask(
    port,
    request(POST, ["Transfer-Encoding: chunked"], `${chunks}0\r\n\r\n`, BODY),
  );
  equal(answer?.status, 200);
  const { tasks: [claimed] } = await rig.store.claimTasks(1, 1);
  equal(new TextDecoder().decode(claimed?.payload), BODY);
});

test(
  "requests behind each other on one connection are all answered, in order",
  async (port, rig) => {
    using client = await RawClient.connect(port);
    const refused = request("POST /webhook/nobody HTTP/1.1");
    await client.send(request(POST) + refused + request(POST));
    const statuses = [];
    for (let n = 0; n < 3; n++) statuses.push((await client.answer())?.status);
    deepEqual(statuses, [200, 404, 200]);
    equal((await rig.tasks()).length, 2);
  },
);

/** Requests that only pretend to be for `push`; the answer may also be a closed connection. */
const SMUGGLED: readonly { what: string; text: string; status: readonly number[] }[] = [
  {
    what: "Host: a/webhook",
    status: [400],
    text: request("POST /push HTTP/1.1", ["Host: a/webhook"]),
  },
  {
    what: "Host: a/webhook/push?",
    status: [400],
    text: request("POST / HTTP/1.1", ["Host: a/webhook/push?"]),
  },
  { what: "Host: a b", text: request(POST, ["Host: a b"]), status: [400] },
  { what: "an empty Host", text: request(POST, ["Host: "]), status: [400] },
  { what: "two Hosts", text: request(POST, ["Host: a", "Host: b"]), status: [400] },
  { what: "an encoded path", text: request("POST /webhook/%70ush HTTP/1.1"), status: [404] },
  { what: "a dot segment", text: request("POST /x/../webhook/push HTTP/1.1"), status: [404] },
  { what: "two slashes", text: request("POST //webhook/push HTTP/1.1"), status: [404] },
  { what: "a slash behind", text: request("POST /webhook/push/ HTTP/1.1"), status: [404] },
  { what: "an asterisk", text: request("POST * HTTP/1.1"), status: [400, 404] },
  { what: "GET", text: request("GET /webhook/push HTTP/1.1"), status: [405] },
  {
    what: "a method in lower case",
    text: request("post /webhook/push HTTP/1.1"),
    status: [400, 405],
  },
  { what: "TRACE", text: request("TRACE /webhook/push HTTP/1.1"), status: [400, 405] },
  { what: "CONNECT", text: request("CONNECT 127.0.0.1:80 HTTP/1.1"), status: [400, 404, 405] },
  {
    what: "Content-Length before Transfer-Encoding",
    status: [400],
    text: request(
      POST,
      [`Content-Length: ${BODY.length}`, "Transfer-Encoding: chunked"],
      `7\r\n${BODY}\r\n0\r\n\r\n`,
      BODY,
    ),
  },
  {
    what: "Transfer-Encoding: gzip, chunked",
    status: [400, 501],
    text: request(POST, ["Transfer-Encoding: gzip, chunked"], `7\r\n${BODY}\r\n0\r\n\r\n`, BODY),
  },
  {
    what: "Transfer-Encoding: gzip",
    status: [400, 501],
    text: request(POST, ["Transfer-Encoding: gzip"], BODY),
  },
  {
    what: "two lengths",
    status: [400],
    text: request(POST, ["Content-Length: 7", "Content-Length: 8"]),
  },
  { what: "a negative length", text: request(POST, ["Content-Length: -1"]), status: [400] },
  { what: "a length with a sign", text: request(POST, ["Content-Length: +7"]), status: [400] },
  { what: "a length in hex", text: request(POST, ["Content-Length: 0x7"]), status: [400] },
  {
    what: "no request",
    text: "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    status: [400],
  },
  {
    what: "a chunk that is none",
    status: [400],
    text: request(POST, ["Transfer-Encoding: chunked"], `zz\r\n${BODY}\r\n0\r\n\r\n`, BODY),
  },
  {
    what: "a NUL in a header",
    status: [400],
    text: request(POST, ["X-A: a\0b"]),
  },
  {
    what: "a folded header",
    status: [400],
    text: request(POST, ["X-A: a\r\n b"]),
  },
  {
    what: "a signature in two lines",
    status: [401],
    text: request(POST, [`x-hub-signature-256: ${sign(BODY)["x-hub-signature-256"]}`]),
  },
  {
    what: "200 headers",
    status: [400, 431],
    text: request(POST, Array.from({ length: 200 }, (_, n) => `X-${n}: y`)),
  },
  {
    // Deno 2.9 answers 400 by itself before a handler sees them
    what: "headers over 64 KiB",
    status: [431, 400],
    text: request(POST, Array.from({ length: 66 }, (_, n) => `X-${n}: ${"y".repeat(1000)}`)),
  },
  {
    what: "one header of 1 MiB",
    status: [400, 431],
    text: request(POST, [`X-A: ${"y".repeat(1 << 20)}`]),
  },
  {
    what: "a path of 100 KiB",
    status: [400, 404, 414, 431],
    text: request(`POST /webhook/${"p".repeat(100_000)} HTTP/1.1`),
  },
];

Deno.test(
  "a malformed request that looks valid is refused and starts nothing",
  LOOSE,
  async (t) => {
    await using rig = await webhookRig({ manifest: MANIFEST, maxBytes: 100_000, deadlineMs: 1500 });
    await using server = await serve({
      on: { hostname: "127.0.0.1", port: 0 },
      handler: rig.handler,
      log: LOG,
      drainMs: 500,
    });
    for (const { what, text, status } of SMUGGLED) {
      await t.step(what, async () => {
        const before = (await rig.tasks()).length;
        const answer = await within(3000, ask(server.port, text).catch(() => undefined));
        ok(answer === undefined || status.includes(answer.status), `${answer?.status}`);
        equal((await rig.tasks()).length, before);
      });
    }
    equal((await ask(server.port, request(POST)))?.status, 200);
  },
);

test("with Transfer-Encoding first, the length is not believed", async (port, rig) => {
  using client = await RawClient.connect(port);
  const headers = ["Transfer-Encoding: chunked", "Content-Length: 3"];
  await client.send(request(POST, headers, `7\r\n${BODY}\r\n0\r\n\r\n`, BODY));
  const first = await client.answer();
  ok(first === undefined || [200, 400].includes(first.status), `${first?.status}`);
  for (const { payload } of (await rig.store.claimTasks(9, 1)).tasks) {
    equal(new TextDecoder().decode(payload), BODY);
  }
  equal((await ask(port, request(POST)))?.status, 200);
});

/** Requests whose end a proxy may see elsewhere than we do. */
const AMBIGUOUS: Readonly<Record<string, string[]>> = {
  "Content-Length before Transfer-Encoding": [
    `Content-Length: ${BODY.length}`,
    "Transfer-Encoding: chunked",
  ],
  "Transfer-Encoding before Content-Length": ["Transfer-Encoding: chunked", "Content-Length: 3"],
  "chunked, chunked": ["Transfer-Encoding: chunked, chunked"],
  ",chunked": ["Transfer-Encoding: ,chunked"],
  "chunked twice": ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
  "identity, chunked": ["Transfer-Encoding: identity, chunked"],
  "gzip, chunked": ["Transfer-Encoding: gzip, chunked"],
  "chunked;q=1": ["Transfer-Encoding: chunked;q=1"],
  "chunked alone": ["Transfer-Encoding: chunked"],
};

Deno.test("bytes after a request with a transfer coding are never served", LOOSE, async (t) => {
  await using rig = await webhookRig({ manifest: MANIFEST, maxBytes: 100_000, deadlineMs: 1500 });
  await using server = await serve({
    on: { hostname: "127.0.0.1", port: 0 },
    handler: rig.handler,
    log: LOG,
    drainMs: 500,
  });
  for (const [what, headers] of Object.entries(AMBIGUOUS)) {
    for (const path of ["/webhook/push", "/webhook/nobody", "/healthz", "/source/slack/a/b"]) {
      await t.step(`${what} to ${path}`, async () => {
        const line = `POST ${path} HTTP/1.1`;
        const chunked = `7\r\n${BODY}\r\n0\r\n\r\n`;
        using client = await RawClient.connect(server.port);
        const next = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
        await client.send(request(line, headers, chunked, BODY) + next);
        const first = await within(5000, client.answer().catch(() => undefined));
        if (first !== undefined) match(first.head, /^connection: close/im);
        equal(await within(5000, client.answer().catch(() => undefined)), undefined);
      });
    }
  }
  equal((await ask(server.port, request(POST)))?.status, 200);
});

test("a body over the cap is answered 413 while it is still being sent", async (port, rig) => {
  using client = await RawClient.connect(port);
  await client.send(request(POST, ["Content-Length: 1000000000"], " ".repeat(1000)));
  equal((await within(2000, client.answer()))?.status, 413);
  using other = await RawClient.connect(port);
  await other.send(request(POST, ["Transfer-Encoding: chunked"], ""));
  const chunk = `2000\r\n${" ".repeat(0x2000)}\r\n`;
  const sending = (async () => {
    for (let n = 0; n < 20; n++) await other.send(chunk);
  })().catch(() => {});
  equal((await within(2000, other.answer()))?.status, 413);
  await sending;
  deepEqual(await rig.tasks(), []);
});

test("Expect: 100-continue is answered before the body is there", async (port, rig) => {
  using client = await RawClient.connect(port);
  const whole = request(POST, ["Expect: 100-continue"]);
  await client.send(whole.slice(0, -BODY.length));
  equal((await within(2000, client.answer()))?.status, 100);
  await client.send(BODY);
  equal((await within(2000, client.answer()))?.status, 200);
  equal((await rig.tasks()).length, 1);
});

test("a slow body is answered 408, and delays no other request", async (port, rig) => {
  using client = await RawClient.connect(port);
  await client.send(request(POST, ["Content-Length: 1000"], "{"));
  const drip = setInterval(() => void client.send(" ").catch(() => {}), 100);
  try {
    const answer = client.answer();
    equal((await ask(port, request(POST)))?.status, 200);
    equal((await within(5000, answer))?.status, 408);
  } finally {
    clearInterval(drip);
  }
  equal((await rig.tasks()).length, 1);
});

test("a body that breaks off starts nothing", async (port, rig) => {
  {
    using client = await RawClient.connect(port);
    await client.send(request(POST, ["Content-Length: 1000"], BODY));
  }
  equal((await ask(port, request(POST)))?.status, 200);
  equal((await rig.tasks()).length, 1);
});

test("sixty stalled connections of every kind delay no other request", async (port, rig) => {
  const starts = [
    "",
    "POST",
    "POST /webhook/push HTTP/1.1\r\nHost: a\r\n",
    request(POST).slice(0, -2),
  ];
  using clients = new DisposableStack();
  for (let n = 0; n < 60; n++) {
    const client = clients.use(await RawClient.connect(port));
    await client.send(starts[n % starts.length] ?? "");
  }
  equal((await within(2000, ask(port, request(POST))))?.status, 200);
  equal((await rig.tasks()).length, 1);
});

Deno.test("a server ends within its time limit, even if clients stay", LOOSE, async () => {
  await using rig = await webhookRig({ manifest: MANIFEST, deadlineMs: 60_000 });
  const server = await serve({
    on: { hostname: "127.0.0.1", port: 0 },
    handler: rig.handler,
    log: LOG,
    drainMs: 400,
  });
  using idle = await RawClient.connect(server.port);
  using half = await RawClient.connect(server.port);
  await half.send(request(POST, ["Content-Length: 1000"], "{"));
  using kept = await RawClient.connect(server.port);
  await kept.send(request(POST));
  equal((await kept.answer())?.status, 200);
  await within(3000, server[Symbol.asyncDispose]());
  await Promise.all([idle, half, kept].map((client) => within(2000, client.closed())));
  await rejects(ask(server.port, request(POST)));
});

Deno.test("a request under way when the server is to end is still answered", LOOSE, async () => {
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
  const handler = async () => {
    arrive();
    await new Promise((resolve) => setTimeout(resolve, 300));
    return new Response("done");
  };
  const server = await serve({
    on: { hostname: "127.0.0.1", port: 0 },
    handler,
    log: LOG,
    drainMs: 60_000,
  });
  const answer = ask(server.port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  await arrived;
  await within(5000, server[Symbol.asyncDispose]());
  equal((await answer)?.status, 200);
});

Deno.test(
  "a handler that throws is answered 500 with nothing in it, and logged",
  LOOSE,
  async () => {
    const errors: unknown[] = [];
    await using server = await serve({
      on: { hostname: "127.0.0.1", port: 0 },
      drainMs: 100,
      handler: () => Promise.reject(new Error("inner secret")),
      log: { ...LOG, error: (_, fields) => void errors.push(fields?.["error"]) },
    });
    const answer = await ask(server.port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    equal(answer?.status, 500);
    equal(answer?.body, "");
    match(String(errors[0]), /inner secret/);
  },
);

Deno.test(
  "an address that is taken, or none of this machine, is refused by name",
  LOOSE,
  async () => {
    const options = { handler: () => new Response(), log: LOG, drainMs: 100 };
    await using server = await serve({ ...options, on: { hostname: "127.0.0.1", port: 0 } });
    for (
      const on of [
        { hostname: "127.0.0.1", port: server.port },
        { hostname: "192.0.2.1", port: 0 },
        { path: "/nonexistent/socket" },
      ]
    ) {
      const where = "path" in on ? on.path : `${on.hostname}:${on.port}`;
      await rejects(
        async () => await serve({ ...options, on }),
        (error: Error & { code?: string }) => {
          equal(error.code, "refused");
          ok(error.message.startsWith(`Cannot listen on ${where}`), error.message);
          return true;
        },
      );
    }
  },
);

Deno.test("a server can listen on a Unix socket", LOOSE, async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/s.sock`;
  await using server = await serve({
    on: { path },
    log: LOG,
    drainMs: 100,
    handler: (_, remote) => new Response(`from "${remote}"`),
  });
  equal(server.port, 0);
  using connection = await Deno.connect({ transport: "unix", path });
  await connection.write(new TextEncoder().encode("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
  const buffer = new Uint8Array(1000);
  const read = await connection.read(buffer);
  match(new TextDecoder().decode(buffer.subarray(0, read ?? 0)), /^HTTP\/1\.1 200[\s\S]*from ""$/);
});
