/**
 * APIs that a step reaches with a key that it does not have: what the API gets, what the step gets, and
 * what an agent tries with it.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  ok as yes,
  strictEqual as equal,
} from "node:assert/strict";
import type { Network } from "../../src/resources/network.ts";
import { makePair, NO_OPENSSL } from "../helpers/certificate.ts";
import { RawClient } from "../helpers/raw_client.ts";
import { skippable } from "../helpers/requirements.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";
import { always, egressRig, HEAD, KEY, ok, rawServer, type Talk } from "../rigs/egress_rig.ts";

const SECRET = { fromSecret: { store: "keys", key: "k" } };
const HOST = "Host: 127.0.0.2:3128\r\n";

/** An API on this machine, and the way to it. */
function apiAt(port: number, more: object = {}): Network {
  const url = `http://127.0.0.1:${port}`;
  return {
    inject: [{ url, env: "BASE", headers: { "x-api-key": SECRET, "x-team": "blue" }, ...more }],
  };
}

Deno.test("an API gets the key, and nothing that the step sent in its place", async () => {
  await using server = rawServer(always(ok("{}")));
  await using rig = await egressRig(apiAt(server.port));
  const answer = await rig.ask(
    `POST /v1/messages?beta=true HTTP/1.1\r\n${HOST}X-API-KEY: placeholder\r\nx-api-key: two\r\n` +
      "X-Team: red\r\nAuthorization: Bearer mine\r\nCookie: a=b\r\nx-goog-api-key: g\r\n" +
      "Api-Key: h\r\nProxy-Authorization: Basic x\r\nX-Original-URL: /admin\r\n" +
      "X-HTTP-Method-Override: DELETE\r\nAccept-Encoding: gzip, br\r\nX-Hop: 1\r\n" +
      "Connection: x-hop, x-api-key, host, keep-alive\r\nExpect: 100-continue\r\nTE: trailers\r\n" +
      "anthropic-version: 2023-06-01\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
  );
  equal(answer?.status, 100); // an answer to `Expect`, which the API never sees
  equal(
    server.received[0],
    `POST /v1/messages?beta=true HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\n` +
      "anthropic-version: 2023-06-01\r\nContent-Type: application/json\r\n" +
      `Accept-Encoding: identity\r\nx-api-key: ${KEY}\r\nx-team: blue\r\nContent-Length: 2\r\n\r\n{}`,
  );
});

/** Ways in which a client reaches a base URL of `http://127.0.0.2:3128`. */
const WAYS: Readonly<Record<string, (client: RawClient) => Promise<void>>> = {
  "directly": (client) => client.send(`GET /x HTTP/1.1\r\n${HOST}\r\n`),
  "through the proxy": (client) =>
    client.send(`GET http://127.0.0.2:3128/x HTTP/1.1\r\n${HOST}\r\n`),
  "through a tunnel of the proxy": async (client) => {
    await client.send(`CONNECT 127.0.0.2:3128 HTTP/1.1\r\n${HOST}\r\n`);
    equal((await client.answer())?.status, 200);
    await client.send(`GET /x HTTP/1.1\r\n${HOST}\r\n`);
  },
};

for (const [way, ask] of Object.entries(WAYS)) {
  Deno.test(`an API is reached ${way}, many times on one connection`, async () => {
    await using server = rawServer(always(ok("hello")));
    await using rig = await egressRig(apiAt(server.port));
    using client = await rig.connect();
    await ask(client);
    equal((await client.answer())?.body, "hello");
    for (let i = 0; i < 3; i++) {
      await client.send(`GET /x HTTP/1.1\r\n${HOST}\r\n`);
      equal((await client.answer())?.body, "hello");
    }
    equal(server.received.length, 1);
    const { requests, statuses, way } = rig.reached(`http://127.0.0.1:${server.port}`)!;
    deepEqual([requests, statuses, way], [4, { 200: 4 }, "inject"]);
  });
}

Deno.test("nothing beside the API is reached through its address", async () => {
  await using server = rawServer(always(ok("hello")));
  await using rig = await egressRig(apiAt(server.port, { paths: ["/v1/messages"] }));
  const refused: Readonly<Record<string, number>> = {
    [`GET /v1/files HTTP/1.1\r\n${HOST}\r\n`]: 403,
    [`GET /v1/messages/../files HTTP/1.1\r\n${HOST}\r\n`]: 400,
    [`GET http://evil.example/v1/messages HTTP/1.1\r\n${HOST}\r\n`]: 403,
    "GET /v1/messages HTTP/1.1\r\nHost: evil.example\r\n\r\n": 421,
    "GET /v1/messages HTTP/1.1\r\nHost: 127.0.0.3:3128\r\n\r\n": 421,
    "GET /v1/messages HTTP/1.1\r\nHost: 127.0.0.2\r\n\r\n": 421,
    [`GET /v1/messages HTTP/1.1\r\n${HOST}Host: evil.example\r\n\r\n`]: 400,
    [`TRACE /v1/messages HTTP/1.1\r\n${HOST}\r\n`]: 400,
    [`CONNECT 127.0.0.1:${server.port} HTTP/1.1\r\n${HOST}\r\n`]: 403,
    [`GET http://127.0.0.1:${server.port}/v1/messages HTTP/1.1\r\n${HOST}\r\n`]: 403,
  };
  for (const [request, status] of Object.entries(refused)) {
    const answer = await rig.ask(request);
    equal(answer?.status, status, request);
    match(answer!.body, /^svc: .*\n$/);
  }
  deepEqual(server.received, []);
  match(
    rig.lines[0] ?? "",
    /^network: \/v1\/files of http:\/\/127\.0\.0\.1:\d+ is not allowed by Sandbox "agents"$/,
  );
});

Deno.test("a request that holds another one reaches an API alone", async () => {
  await using server = rawServer(always(ok("hello")));
  await using rig = await egressRig(apiAt(server.port, { paths: ["/v1/messages"] }));
  const second = `DELETE /v1/files HTTP/1.1\r\n${HOST}\r\n`;
  for (
    const rest of [
      "Content-Length: 50\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "Content-Length: 50\r\nContent-Length: 0\r\n\r\n",
      "Transfer-Encoding: chunked\r\n\r\n0\n\r\n",
      "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n",
      "X:\r\n y\r\n\r\n",
      "X: y\n\r\n\r\n",
    ]
  ) {
    const answer = await rig.ask(`POST /v1/messages HTTP/1.1\r\n${HOST}${rest}${second}`);
    equal(answer?.status, 400, JSON.stringify(rest));
  }
  // A whole request, and the next one behind it: it is judged by itself.
  using client = await rig.connect();
  await client.send(`POST /v1/messages HTTP/1.1\r\n${HOST}Content-Length: 2\r\n\r\n{}${second}`);
  equal((await client.answer())?.status, 200);
  equal((await client.answer())?.status, 403);
  yes(!server.received.join("").includes("DELETE"));
});

Deno.test("chunks of a request are written anew, without trailers", async () => {
  await using server = rawServer(async ({ until, send }) => {
    await until(/0\r\n\r\n/);
    await send(ok("hello"));
  });
  await using rig = await egressRig(apiAt(server.port));
  const answer = await rig.ask(
    `POST / HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n` +
      "03\r\nabc\r\n0\r\nX-Api-Key: mine\r\n\r\n",
  );
  equal(answer?.body, "hello");
  match(server.received[0] ?? "", /\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n$/);
});

Deno.test("a redirect is passed on, and not followed", async () => {
  await using elsewhere = rawServer(always(ok("stolen")));
  const location = `http://127.0.0.1:${elsewhere.port}/`;
  await using server = rawServer(
    always(
      `HTTP/1.1 307 X\r\nLocation: ${location}\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n`,
    ),
  );
  await using rig = await egressRig(apiAt(server.port));
  const answer = await rig.ask(`GET / HTTP/1.1\r\n${HOST}\r\n`);
  equal(answer?.status, 307);
  match(answer!.head, new RegExp(`^Location: ${location}\r?$`, "m"));
  yes(!/cookie/i.test(answer!.head));
  deepEqual(elsewhere.received, []);
  equal((await rig.ask(`GET ${location} HTTP/1.1\r\nHost: a\r\n\r\n`))?.status, 403);
});

Deno.test("events arrive one by one, while the API is still speaking", async () => {
  const next = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const event = (n: number) =>
    `data: ${JSON.stringify({ type: "message_delta", usage: { output_tokens: n } })}\n\n`;
  await using server = rawServer(async ({ until, send }) => {
    await until(HEAD);
    await send(
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
    );
    for (const [n, { promise }] of next.entries()) {
      await send(`${event(n + 1).length.toString(16)}\r\n${event(n + 1)}\r\n`);
      await promise;
    }
    await send("0\r\n\r\n");
    await until(HEAD);
    await send(ok("{}"));
  });
  await using rig = await egressRig(apiAt(server.port));
  using client = await Deno.connect({ transport: "unix", path: rig.path });
  await client.write(new TextEncoder().encode(`GET / HTTP/1.1\r\n${HOST}\r\n`));
  let said = "";
  const buffer = new Uint8Array(4096);
  const sees = async (text: string) => {
    while (!said.includes(text)) {
      const read = await client.read(buffer);
      if (read === null) throw new Error("ended");
      said += new TextDecoder().decode(buffer.subarray(0, read));
    }
  };
  for (const [n, { resolve }] of next.entries()) {
    await sees(event(n + 1));
    resolve();
  }
  await sees("\r\n0\r\n\r\n");
  const { tokens } = await until("tokens", () => {
    const found = rig.reached(`http://127.0.0.1:${server.port}`);
    return found?.tokens === undefined ? undefined : found;
  });
  deepEqual(tokens, { input: 0, output: 2, cacheRead: 0, cacheWrite: 0 });
  await client.write(new TextEncoder().encode(`GET / HTTP/1.1\r\n${HOST}\r\n`));
  await sees("{}"); // on the same connection
});

Deno.test("tokens of several answers are summed, and limits are told", async () => {
  let asked = 0;
  const talk: Talk = async ({ until, send }) => {
    for (;;) {
      await until(HEAD);
      await send(
        ++asked === 3
          ? "HTTP/1.1 429 X\r\nRetry-After: 30\r\nContent-Length: 0\r\n\r\n"
          : ok('{"usage":{"input_tokens":5,"output_tokens":7}}', "Content-Type: application/json"),
      );
    }
  };
  await using server = rawServer(talk);
  await using rig = await egressRig(apiAt(server.port));
  using client = await rig.connect();
  const before = Date.now();
  for (const status of [200, 200, 429]) {
    await client.send(`GET / HTTP/1.1\r\n${HOST}\r\n`);
    equal((await client.answer())?.status, status);
  }
  const origin = `http://127.0.0.1:${server.port}`;
  const reached = rig.reached(origin)!;
  deepEqual(reached.tokens, { input: 10, output: 14, cacheRead: 0, cacheWrite: 0 });
  deepEqual(reached.statuses, { 200: 2, 429: 1 });
  equal(rig.limits.length, 1);
  deepEqual(reached.limit, rig.limits[0]);
  const { status, resetsAt = 0 } = rig.limits[0]!;
  equal(status, 429);
  yes(resetsAt >= before + 30_000 && resetsAt <= Date.now() + 30_000);
});

/** What a server says, and what the step gets of it: the status, and how its body ends. */
const ANSWERS: Readonly<Record<string, readonly [said: string, status: number, body?: string]>> = {
  "HTTP/1.0": ["HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nhello", 200, "hello"],
  "HTTP/1.0 with a length": ["HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello"],
  "interim answers": [
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ok("hello"),
    200,
    "hello",
  ],
  "no length": ["HTTP/1.1 200 OK\r\n\r\nhello", 200, "hello"],
  "nothing": ["", 502],
  "half a head": ["HTTP/1.1 200 OK\r\nContent-Le", 502],
  "no HTTP": ["220 smtp.example ESMTP\r\n\r\n", 502],
  "HTTP/0.9": ["hello\r\n\r\n", 502],
  "TLS": ["\x15\x03\x01\x00\x02\x02\x46", 502],
  "two lengths": ["HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", 502],
  "length and chunks": [
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    502,
  ],
  "a folded header": ["HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n", 502],
  "a header without end": [`HTTP/1.1 200 OK\r\nX: ${"a".repeat(100_000)}\r\n\r\n`, 502],
  "another protocol": ["HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\n", 502],
  "interim answers without end": ["HTTP/1.1 100 Continue\r\n\r\n".repeat(100), 502],
};

for (const [what, [said, status, body]] of Object.entries(ANSWERS)) {
  Deno.test(`an API that answers with ${what}`, async () => {
    await using server = rawServer(async ({ until, send }) => {
      await until(HEAD);
      await send(said);
    });
    await using rig = await egressRig(apiAt(server.port));
    using client = await rig.connect();
    await client.send(`GET / HTTP/1.1\r\n${HOST}\r\n`);
    const answer = await client.answer();
    equal(answer?.status, status);
    if (status === 502) {
      match(answer!.body, /^svc: http:\/\/127\.0\.0\.1:\d+ cannot be reached: .*\n$/);
      equal(rig.lines.length, 1);
      equal(rig.reached(`http://127.0.0.1:${server.port}`)?.failed, 1);
      return;
    }
    const isFramed = /^content-length/im.test(answer!.head);
    equal(isFramed, /^content-length/im.test(said));
    if (isFramed) equal(answer!.body, body);
    else match(answer!.head, /^Connection: close\r?$/m);
  });
}

Deno.test("an answer that is cut does not look whole", async () => {
  for (
    const said of [
      "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
    ]
  ) {
    await using server = rawServer(async ({ until, send }) => {
      await until(HEAD);
      await send(said);
    });
    await using rig = await egressRig(apiAt(server.port));
    using client = await Deno.connect({ transport: "unix", path: rig.path });
    await client.write(new TextEncoder().encode(`GET / HTTP/1.1\r\n${HOST}\r\n`));
    let got = "";
    const buffer = new Uint8Array(4096);
    for (let read; (read = await client.read(buffer)) !== null;) {
      got += new TextDecoder().decode(buffer.subarray(0, read));
    }
    match(got, /hello/);
    yes(!got.includes("\r\n0\r\n"), got);
    equal(got.split("HTTP/1.1").length, 2, "something else was answered within it");
    equal(rig.reached(`http://127.0.0.1:${server.port}`)?.failed, 1);
  }
});

Deno.test("an answer for HTTP/1.0 has no chunks", async () => {
  await using server = rawServer(
    always("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
  );
  await using rig = await egressRig(apiAt(server.port));
  using client = await Deno.connect({ transport: "unix", path: rig.path });
  await client.write(new TextEncoder().encode(`GET / HTTP/1.0\r\n${HOST}\r\n`));
  let got = "";
  const buffer = new Uint8Array(4096);
  for (let read; (read = await client.read(buffer)) !== null;) {
    got += new TextDecoder().decode(buffer.subarray(0, read));
  }
  match(got, /^HTTP\/1\.1 200 OK\r\nConnection: close\r\n\r\nhello$/);
});

Deno.test("an answer that nobody asked for is not the answer to the next request", async () => {
  const answers = [ok("one") + ok("unasked"), ok("two")];
  await using server = rawServer(async ({ until, send }) => {
    for (;;) {
      await until(HEAD);
      await send(answers.shift() ?? "");
    }
  });
  await using rig = await egressRig(apiAt(server.port));
  using client = await rig.connect();
  for (const body of ["one", "two"]) {
    await client.send(`GET / HTTP/1.1\r\n${HOST}\r\n`);
    equal((await client.answer())?.body, body);
  }
});

Deno.test("an API that is silent after all of an upload that it was asked for is 502", async () => {
  await using server = rawServer(async ({ until }) => {
    await until(/^[^]*abc/);
  });
  await using rig = await egressRig(apiAt(server.port));
  using client = await rig.connect();
  await client.send(`POST / HTTP/1.1\r\n${HOST}Expect: 100-continue\r\nContent-Length: 3\r\n\r\n`);
  equal((await client.answer())?.status, 100);
  await client.send("abc");
  equal((await client.answer())?.status, 502);
});

Deno.test("an API that refuses an upload early is heard", async () => {
  await using server = rawServer(async ({ until, send }) => {
    await until(HEAD);
    await send("HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig");
  });
  await using rig = await egressRig(apiAt(server.port));
  using client = await rig.connect();
  await client.send(`POST / HTTP/1.1\r\n${HOST}Content-Length: 100000000\r\n\r\n{`);
  const answer = await client.answer();
  deepEqual([answer?.status, answer?.body], [413, "big"]);
  match(answer!.head, /^Connection: close\r?$/m);
});

Deno.test("a connection that its API has closed meanwhile is made anew", async () => {
  let connections = 0;
  await using server = rawServer(async ({ until, send }) => {
    connections++;
    await until(HEAD);
    await send(ok("hello")); // and closes
  });
  await using rig = await egressRig(apiAt(server.port));
  using client = await rig.connect();
  for (let i = 1; i <= 3; i++) {
    await client.send(`GET / HTTP/1.1\r\n${HOST}\r\n`);
    equal((await client.answer())?.body, "hello");
    await until("the API has closed", () => server.open === 0 ? true : undefined);
    await new Promise((resolve) => setTimeout(resolve, 20)); // until the end has arrived
  }
  equal(connections, 3);
});

Deno.test({
  ...skippable(
    "an API is reached by TLS, with its own name and a certificate that fits",
    NO_OPENSSL,
  ),
  async fn() {
    await using dir = await tempDir();
    const cert = await makePair(dir.path, "api", "DNS:api.example");
    const key = await Deno.readTextFile(`${dir.path}/api.key`);
    await using server = rawServer(always(ok("hello")), { key, cert });
    const { port } = server;
    const network: Network = {
      allow: [`127.0.0.1:${port}`],
      inject: [
        { url: `https://api.example:${port}/v1`, env: "A", headers: { "x-api-key": SECRET } },
        { url: `https://other.example:${port}`, env: "B", headers: { "x-api-key": SECRET } },
      ],
    };
    {
      await using rig = await egressRig(network, { caCerts: [cert] });
      using client = await rig.connect();
      for (let i = 0; i < 3; i++) {
        await client.send(`GET /v1/x HTTP/1.1\r\n${HOST}\r\n`);
        equal((await client.answer())?.body, "hello");
      }
      equal(server.received.length, 1);
      match(
        server.received[0] ?? "",
        new RegExp(`^GET /v1/x HTTP/1.1\r\nHost: api.example:${port}\r\n`),
      );
      const wrong = await rig.ask("GET / HTTP/1.1\r\nHost: 127.0.0.3:3128\r\n\r\n");
      equal(wrong?.status, 502);
      match(wrong!.body, /other\.example:\d+ cannot be reached: there is no secure connection: /);
    }
    await using rig = await egressRig(network); // nobody has signed it
    const answer = await rig.ask(`GET /v1/x HTTP/1.1\r\n${HOST}\r\n`);
    equal(answer?.status, 502);
    match(answer!.body, /UnknownIssuer: name the file of the authority .* in DENO_CERT/);
    yes(!server.received.slice(1).join("").includes(KEY));
  },
});

Deno.test("the key is in no line, no answer and no report", async () => {
  await using server = rawServer(async ({ until, send }) => {
    await until(HEAD);
    await send(`HTTP/1.1 200 OK\r\nContent-Length: 5, ${KEY}\r\n\r\n`);
  });
  await using rig = await egressRig(apiAt(server.port));
  const answer = await rig.ask(`GET /${KEY} HTTP/1.1\r\n${HOST}\r\n`);
  equal(answer?.status, 502);
  const refused = await rig.ask(`TRACE /${KEY} HTTP/1.1\r\n${HOST}\r\n`);
  equal(refused?.status, 400);
  const everything = JSON.stringify([answer, refused, rig.lines, rig.logged, rig.egress.report()]);
  yes(!everything.includes(KEY), everything);
  match(server.received[0] ?? "", new RegExp(`x-api-key: ${KEY}`));
});
