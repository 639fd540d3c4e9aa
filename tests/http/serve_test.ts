/**
 * The server on a real socket: what a client can make it wait for, how many there may be, TLS, and
 * how it ends. What requests may look like is in `wire_test.ts`.
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
import { fileURLToPath } from "node:url";
import { markKnown } from "../../src/http/arrival.ts";
import { findConnectionServer } from "../../src/http/server/connection_server.ts";
import type { Deadlines } from "../../src/http/server/connection.ts";
import { BodyBudget } from "../../src/http/body_budget.ts";
import { readBody } from "../../src/http/read_body.ts";
import { type HttpServer, serve, type ServeOptions } from "../../src/http/server/serve.ts";
import { makePair, NO_OPENSSL } from "../helpers/certificate.ts";
import { skippable } from "../helpers/requirements.ts";
import { until as untilGiven } from "../helpers/until.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { within } from "../helpers/within.ts";
import { ask, RawClient } from "../helpers/raw_client.ts";

/** A connection that was cut is gone a moment later, which the sanitizers take for a leak. */
const LOOSE = { sanitizeOps: false, sanitizeResources: false };
const GET = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";
/**
 * Longer than any test lasts: what ends a connection nevertheless is the deadline that it shortens.
 */
const NEVER_MS = 600_000;
const DEADLINES: Deadlines = {
  headersMs: NEVER_MS,
  idleMs: NEVER_MS,
  afterAnswerMs: NEVER_MS,
  requestMs: NEVER_MS,
};

/** A server of a test, and what it has logged. */
async function start(
  options: Partial<ServeOptions> = {},
): Promise<HttpServer & { readonly logged: string[] }> {
  const logged: string[] = [];
  const log = (message: string, fields: object = {}) => {
    logged.push(`${message} ${Object.values(fields).map(String).join(" ")}`);
  };
  const server = await serve({
    on: { hostname: "127.0.0.1", port: 0 },
    drainMs: 300,
    deadlines: DEADLINES,
    handler: (_request, remote) => new Response(remote),
    log: { debug() {}, info: log, warn: log, error: log },
    ...options,
  });
  return Object.assign(server, { logged });
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function until(what: string, look: () => boolean): Promise<void> {
  await untilGiven(what, () => look() || undefined);
}

/** A handler that answers when the test lets it. */
function gate() {
  const { promise, resolve: open } = Promise.withResolvers<void>();
  const entered = { count: 0 };
  const handler = async (request: Request) => {
    if (!request.url.endsWith("/wait")) return new Response("at once");
    entered.count++;
    await promise;
    return new Response("late");
  };
  return { handler, open, entered };
}

const WAIT = GET.replace("/x", "/wait");

const FIRST = { ...DEADLINES, headersMs: 300 };
const NEXT = { ...DEADLINES, idleMs: 800, afterAnswerMs: 100 };

/** What a client does before it stalls, and the deadlines of which one then cuts it off. */
const STALLS: readonly { what: string; send: string; answers: number; deadlines: Deadlines }[] = [
  { what: "says nothing", send: "", answers: 0, deadlines: FIRST },
  { what: "sends half its headers", send: GET.slice(0, 25), answers: 0, deadlines: FIRST },
  { what: "has its answer and says no more", send: GET, answers: 1, deadlines: NEXT },
  { what: "sends half its next headers", send: GET + GET.slice(0, 9), answers: 1, deadlines: NEXT },
];

for (const { what, send, answers, deadlines } of STALLS) {
  Deno.test(`serve() closes a connection that ${what}`, LOOSE, async () => {
    await using server = await start({ deadlines });
    const began = performance.now();
    using client = await RawClient.connect(server.port);
    await client.send(send);
    for (let n = 0; n < answers; n++) equal((await client.answer())?.status, 200);
    await within(5000, client.closed());
    const ms = performance.now() - began;
    ok(ms >= (answers === 0 ? 200 : 600), `${ms}`);
  });
}

Deno.test("serve() closes a connection whose headers drip", LOOSE, async () => {
  await using server = await start({ deadlines: FIRST });
  using client = await RawClient.connect(server.port);
  await client.send("GET /x HTTP/1.1\r\n");
  const drip = setInterval(() => void client.send("a: b\r\n").catch(() => {}), 50);
  try {
    await within(5000, client.closed());
  } finally {
    clearInterval(drip);
  }
});

Deno.test("serve() does not count our own time as the client's", LOOSE, async () => {
  const { handler, open, entered } = gate();
  const deadlines = { ...NEXT, headersMs: 800 };
  await using server = await start({ handler, deadlines });
  using client = await RawClient.connect(server.port);
  await client.send(WAIT);
  await until("the request", () => entered.count === 1);
  await sleep(1200); // longer than any patience with clients
  open();
  equal((await client.answer())?.body, "late");
});

Deno.test("serve() gives a request up when our side takes too long", LOOSE, async () => {
  const { handler, open, entered } = gate();
  await using server = await start({ handler, deadlines: { ...DEADLINES, requestMs: 2000 } });
  using client = await RawClient.connect(server.port);
  const began = performance.now();
  await client.send(WAIT);
  await within(5000, client.closed());
  const ms = performance.now() - began;
  ok(ms > 1500 && entered.count === 1, `${ms}`);
  match(server.logged.join("\n"), /request took too long/);
  open();
  equal((await ask(server.port, GET))?.status, 200);
});

Deno.test("serve() does not end a stream where there may be some", LOOSE, async () => {
  const body = () =>
    ReadableStream.from((async function* () {
      for (let n = 0; n < 12; n++) {
        yield new TextEncoder().encode(`${n};`);
        await sleep(100);
      }
    })());
  const short = { headersMs: NEVER_MS, idleMs: 300, afterAnswerMs: 100, requestMs: 400 };
  for (const streams of [true, false]) {
    await using server = await start({
      streams,
      deadlines: short,
      handler: () => new Response(body()),
    });
    const response = await within(5000, fetch(`http://127.0.0.1:${server.port}/`));
    const text = await response.text().catch(() => "cut");
    equal(text, streams ? "0;1;2;3;4;5;6;7;8;9;10;11;" : "cut");
  }
});

Deno.test(
  "serve() at its limit closes idle connections, the longest idle first",
  LOOSE,
  async () => {
    await using server = await start({
      maxConnections: 3,
    });
    const [first, second, third] = [
      await RawClient.connect(server.port),
      await RawClient.connect(server.port),
      await RawClient.connect(server.port),
    ];
    using _clients = {
      [Symbol.dispose]: () => [first, second, third].forEach((one) => one?.[Symbol.dispose]()),
    };
    await third.send(GET); // the others have been accepted before it is answered
    equal((await third.answer())?.status, 200);
    equal((await within(1000, ask(server.port, GET)))?.status, 200);
    await within(1000, first.closed());
    await second.send(GET);
    equal((await second.answer())?.status, 200);
  },
);

Deno.test("serve() has strangers go first, the oldest at once", LOOSE, async () => {
  const handler = (request: Request) => {
    if (request.url.endsWith("/key")) markKnown(request);
    return new Response("here");
  };
  await using server = await start({ handler, maxConnections: 4, maxStrangers: 2 });
  using clients = new DisposableStack();
  const connect = async (...sent: readonly string[]) => {
    const client = clients.use(await RawClient.connect(server.port));
    for (const text of sent) await client.send(text);
    return client;
  };
  const key = GET.replace("/x", "/key");
  const known = [await connect(key), await connect(key)];
  for (const one of known) equal((await one.answer())?.body, "here");
  const half = "POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n";
  const strangers: RawClient[] = [];
  for (const sent of [half, "", GET.slice(0, 9), half, half, GET]) {
    strangers.push(await connect(sent));
  }
  equal((await strangers.at(-1)?.answer())?.body, "here", "the newest");
  for (const one of strangers.slice(0, -2)) await within(5000, one.closed());
  for (const one of known) {
    await one.send(GET);
    equal((await one.answer())?.body, "here", "who is known");
  }
  const third = await connect(key);
  equal((await third.answer())?.body, "here", "a newcomer that becomes known");
});

Deno.test("serve() at its limit turns newcomers away while all are at work", LOOSE, async () => {
  const { handler, open, entered } = gate();
  await using server = await start({ handler, maxConnections: 2 });
  const clients = [await RawClient.connect(server.port), await RawClient.connect(server.port)];
  using _clients = { [Symbol.dispose]: () => clients.forEach((one) => one[Symbol.dispose]()) };
  for (const client of clients) await client.send(WAIT);
  await until("both requests", () => entered.count === 2);
  equal(await within(1000, ask(server.port, GET).catch(() => undefined)), undefined);
  open();
  for (const client of clients) equal((await client.answer())?.body, "late");
  equal((await within(1000, ask(server.port, GET)))?.status, 200);
  await until(
    "a line in the log",
    () => /too many connections 2 \d/.test(server.logged.join("\n")),
  );
});

Deno.test(
  "serve() at its limit closes a body that drips, not a request at work",
  LOOSE,
  async () => {
    const { handler, open, entered } = gate();
    const bodies = new BodyBudget(10_000);
    await using server = await start({
      maxConnections: 2,
      deadlines: { ...DEADLINES, headersMs: 1000 },
      async handler(request) {
        await readBody(request, {
          headers: Object.fromEntries(request.headers),
          limits: { maxBytes: 100, deadlineMs: NEVER_MS },
          held: bodies.hold("x"),
        });
        return await handler(request);
      },
    });
    const post = WAIT.replace("GET", "POST").replace("\r\n\r\n", "\r\nContent-Length: 2\r\n\r\n");
    using atWork = await RawClient.connect(server.port);
    await atWork.send(`${post}ab`);
    await until("the request", () => entered.count === 1);
    using dripping = await RawClient.connect(server.port);
    await dripping.send(`${post}a`);
    // New clients are refused until the connection with the slow body has had its time.
    const answered = () => ask(server.port, GET).then((answer) => answer?.body, () => undefined);
    equal(await untilGiven("room for one more", answered), "at once");
    await within(1000, dripping.closed());
    open();
    equal((await atWork.answer())?.body, "late");
  },
);

Deno.test(
  "serve() answers what is under way when it stops, and waits no longer",
  LOOSE,
  async () => {
    const { handler, open, entered } = gate();
    const server = await start({ handler, drainMs: NEVER_MS });
    using client = await RawClient.connect(server.port);
    await client.send(WAIT);
    await until("the request", () => entered.count === 1);
    const ended = server[Symbol.asyncDispose]();
    setTimeout(open, 100);
    equal((await client.answer())?.body, "late");
    await within(2000, ended);
  },
);

Deno.test("serve() stops within its patience while a handler never answers", LOOSE, async () => {
  const { handler, open, entered } = gate();
  const server = await start({ handler, drainMs: 200 });
  using client = await RawClient.connect(server.port);
  await client.send(WAIT);
  await until("the request", () => entered.count === 1);
  await within(2500, server[Symbol.asyncDispose]());
  open();
});

Deno.test("serve() stops at once when its clients are only stalled", LOOSE, async () => {
  const server = await start({ drainMs: NEVER_MS });
  using clients = new DisposableStack();
  for (let n = 0; n < 45; n++) {
    const client = clients.use(await RawClient.connect(server.port));
    await client.send(["", GET.slice(0, 20), GET][n % 3] ?? "");
  }
  equal((await ask(server.port, GET))?.status, 200);
  await within(1000, server[Symbol.asyncDispose]());
});

Deno.test("cutting a connection that is closed already does nothing", LOOSE, async () => {
  const serveConnection = await findConnectionServer();
  ok(typeof serveConnection === "function");
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  for (let n = 0; n < 50; n++) {
    const client = await Deno.connect({ hostname: "127.0.0.1", port: listener.addr.port });
    const served = serveConnection(
      await listener.accept(),
      () => new Response(),
      () => new Response(),
    );
    served.cut();
    client.close();
    if (n % 2 === 0) await served.closed;
    served.cut();
    await served.closed;
    served.cut();
  }
});

Deno.test("findConnectionServer() finds Deno's own, and notices when it does not work", async () => {
  equal(typeof await findConnectionServer(), "function");
  const internals = Reflect.get(Deno, Reflect.get(Deno, "internal")) as Record<string, unknown>;
  const name = "serveHttpOnConnection";
  const real = internals[name];
  const broken = [
    undefined,
    () => ({ finished: Promise.resolve() }),
    () => {
      throw new Error("not like that");
    },
  ];
  for (const entry of broken) {
    internals[name] = entry;
    try {
      const found = await findConnectionServer();
      ok(typeof found !== "function" && found.lack !== "");
    } finally {
      internals[name] = real;
    }
  }
});

Deno.test("serve() falls back to Deno.serve, with a warning", LOOSE, async () => {
  const { handler, open, entered } = gate();
  const server = await start({
    handler,
    drainMs: 3000,
    findConnectionServer: () => Promise.resolve({ lack: "as tested" }),
  });
  match(server.logged.join("\n"), /slow clients are not limited.*as tested/);
  using idle = await RawClient.connect(server.port);
  using half = await RawClient.connect(server.port);
  await half.send(GET.slice(0, 20));
  using waiting = await RawClient.connect(server.port);
  await waiting.send(WAIT);
  await until("the request", () => entered.count === 1);
  equal((await ask(server.port, GET))?.body, "at once");
  const ended = server[Symbol.asyncDispose]();
  setTimeout(open, 100);
  equal((await waiting.answer())?.body, "late");
  await within(5000, ended);
  await Promise.all([idle, half].map((client) => within(1000, client.closed())));
  await rejects(ask(server.port, GET));
});

Deno.test("serve() on a Unix socket stops although a client never finishes", LOOSE, async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/s`;
  const server = await start({
    on: { path },
    handler: async (request) => new Response(await request.text()),
  });
  using connection = await Deno.connect({ transport: "unix", path });
  const text = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab";
  await connection.write(new TextEncoder().encode(text));
  await sleep(50);
  await within(2000, server[Symbol.asyncDispose]());
});

Deno.test("serve() on a Unix socket with a limit takes no more connections", LOOSE, async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/s`;
  await using server = await start({ on: { path }, maxConnections: 4 });
  await using open = new AsyncDisposableStack();
  const connect = async () => {
    const connection = await Deno.connect({ transport: "unix", path });
    open.defer(() => connection.close());
    return connection;
  };
  const ends = Array.from({ length: 30 }, async () => {
    const connection = await connect();
    return await connection.read(new Uint8Array(1)).catch(() => null);
  });
  await until("the limit", () => server.load()?.open === 4);
  const last = await connect();
  await last.write(new TextEncoder().encode(GET));
  const buffer = new Uint8Array(1000);
  const read = await within(5000, last.read(buffer)) ?? 0;
  match(new TextDecoder().decode(buffer.subarray(0, read)), /^HTTP\/1\.1 200/);
  equal((Deno.statSync(path).mode ?? 0) & 0o777, 0o600);
  equal(server.load()?.open, 4);
  await server[Symbol.asyncDispose]();
  deepEqual(await Promise.all(ends), ends.map(() => null));
});

Deno.test("serve() takes the sender's address from trusted proxies only", async () => {
  const text = GET.replace("\r\n\r\n", "\r\nX-Forwarded-For: 8.8.8.8, 192.0.2.7\r\n\r\n");
  const cases: readonly [readonly string[] | undefined, string][] = [
    [undefined, "127.0.0.1"],
    [["10.0.0.0/8"], "127.0.0.1"],
    [["127.0.0.0/8"], "192.0.2.7"],
  ];
  for (const [trustedProxies, expected] of cases) {
    await using server = await start(trustedProxies === undefined ? {} : { trustedProxies });
    equal((await ask(server.port, text))?.body, expected);
  }
});

/** Far fewer descriptors than connections, and no limit of ours that keeps them apart. */
const serveOn = (on: Readonly<Record<string, unknown>>) => `
  import { serve } from ${
  JSON.stringify(new URL("../../src/http/server/serve.ts", import.meta.url).href)
};
  const log = { debug() {}, info() {}, warn() {}, error: (text) => console.error(text) };
  const server = await serve({
    on: ${JSON.stringify(on)}, handler: () => new Response(), log, drainMs: 100,
  });
  console.log(server.port);
`;

/** Starts a program with so few. */
async function startWithFew(program: string) {
  const child = new Deno.Command("/bin/sh", {
    args: ["-c", 'ulimit -n 64; exec "$@"', "sh", Deno.execPath(), "run", "--quiet", "-A"]
      .concat("--config", fileURLToPath(new URL("../../deno.json", import.meta.url)), "-"),
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(program));
  await writer.close();
  const reader = child.stdout.getReader();
  const { value } = await within(20_000, reader.read());
  return { child, reader, said: new TextDecoder().decode(value) };
}

Deno.test("serve() on a socket goes on after it had no descriptors left", LOOSE, async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/socket`;
  const { child, reader } = await startWithFew(serveOn({ path }));
  try {
    const connect = () => Deno.connect({ transport: "unix", path });
    // Some are refused: it listens anew once it has none left.
    const idle = (await Promise.allSettled(Array.from({ length: 80 }, connect)))
      .flatMap((one) => one.status === "fulfilled" ? [one.value] : []);
    const answer = async () => {
      using client = Deno.createHttpClient({ proxy: { transport: "unix", path } });
      const signal = AbortSignal.timeout(2000);
      return (await fetch("http://svc/", { client, signal })).status;
    };
    await answer().catch(() => {}); // there is nothing left for it
    for (const connection of idle) connection.close();
    equal(await untilGiven("an answer", () => answer().catch(() => undefined)), 200);
    equal(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);
    await reader.cancel();
  } finally {
    child.kill("SIGKILL");
    await child.status;
    await child.stderr.cancel();
  }
});

Deno.test("serve() goes on after it had no descriptors left", LOOSE, async () => {
  const { child, reader, said } = await startWithFew(serveOn({ hostname: "127.0.0.1", port: 0 }));
  using clients = new DisposableStack();
  try {
    const port = Number(said);
    for (let n = 0; n < 200; n++) clients.use(await RawClient.connect(port));
    let status: number | undefined;
    for (let tries = 0; status !== 200 && tries < 20; tries++) {
      status = (await within(2000, ask(port, GET)).catch(() => undefined))?.status;
    }
    equal(status, 200);
    await reader.cancel();
  } finally {
    child.kill("SIGKILL");
    await child.status;
  }
  match(await new Response(child.stderr).text(), /cannot accept connections/);
});

async function pairIn(dir: string, name: string): Promise<{ cert: string; key: string }> {
  const cert = await makePair(dir, name);
  return { cert, key: await Deno.readTextFile(`${dir}/${name}.key`) };
}

/** Asks over TLS; succeeds only when the server shows the certificate given. */
async function askTls(port: number, cert: string): Promise<string> {
  using client = Deno.createHttpClient({ caCerts: [cert], poolMaxIdlePerHost: 0 });
  return await (await fetch(`https://127.0.0.1:${port}/`, { client })).text();
}

Deno.test({
  ...skippable(
    "serve() with TLS takes up a new certificate, and keeps the old one when it is bad",
    NO_OPENSSL,
  ),
  ...LOOSE,
  async fn() {
    await using dir = await tempDir();
    const [one, two] = [await pairIn(dir.path, "one"), await pairIn(dir.path, "two")];
    const tls = { certFile: `${dir.path}/now.crt`, keyFile: `${dir.path}/now.key` };
    const write = async (pair: { cert: string; key: string }) => {
      await Deno.writeTextFile(tls.certFile, pair.cert);
      await Deno.writeTextFile(tls.keyFile, pair.key);
    };
    await write(one);
    await using server = await start({ tls, tlsCheckMs: 40 });
    using kept = await Deno.connectTls({
      hostname: "127.0.0.1",
      port: server.port,
      caCerts: [one.cert],
    });
    const askKept = async () => {
      await kept.write(new TextEncoder().encode(GET));
      const buffer = new Uint8Array(2000);
      return new TextDecoder().decode(buffer.subarray(0, await kept.read(buffer) ?? 0));
    };
    match(await askKept(), /^HTTP\/1\.1 200/);
    equal(await askTls(server.port, one.cert), "127.0.0.1");

    const bad = [
      { cert: two.cert, key: one.key },
      { cert: "nothing like a certificate", key: two.key },
      { cert: one.cert, key: "" },
    ];
    for (const [index, pair] of bad.entries()) {
      await write(pair);
      await until("a complaint", () => server.logged.length > index);
      match(server.logged[index] ?? "", /certificate not reloaded.*now\.crt/);
      equal(await askTls(server.port, one.cert), "127.0.0.1");
    }
    equal(server.logged.length, bad.length, "one complaint each");
    ok(!server.logged.join().includes("PRIVATE KEY"));

    await write(two);
    await until(
      "the new certificate",
      () =>
        server.logged.at(-1)?.includes("reloaded") === true && server.logged.length > bad.length,
    );
    equal(await askTls(server.port, two.cert), "127.0.0.1");
    await rejects(askTls(server.port, one.cert));
    match(await askKept(), /^HTTP\/1\.1 200/, "who was connected stays so");
  },
});

Deno.test({
  ...skippable("serve() with TLS is not harmed by who does not speak it", NO_OPENSSL),
  ...LOOSE,
  async fn() {
    await using dir = await tempDir();
    const cert = await makePair(dir.path, "one");
    const tls = { certFile: `${dir.path}/one.crt`, keyFile: `${dir.path}/one.key` };
    for (const found of [findConnectionServer, () => Promise.resolve({ lack: "as tested" })]) {
      await using server = await start({ tls, findConnectionServer: found });
      equal(await ask(server.port, GET).catch(() => undefined), undefined);
      using garbage = await RawClient.connect(server.port);
      await garbage.send(new Uint8Array(5000).fill(22));
      equal(await askTls(server.port, cert), "127.0.0.1");
    }
    await using server = await start({ tls, deadlines: FIRST });
    using silent = await RawClient.connect(server.port);
    await within(5000, silent.closed()); // a handshake that never comes has a deadline
  },
});

Deno.test({
  ...skippable(
    "serve() refuses to start with a certificate it cannot use, and names it",
    NO_OPENSSL,
  ),
  ...LOOSE, // a deadline of a connection of the test before may end meanwhile
  async fn() {
    await using dir = await tempDir();
    for (const name of ["one", "two"]) await makePair(dir.path, name);
    const [certFile, keyFile] = [`${dir.path}/one.crt`, `${dir.path}/two.key`];
    const missing = { certFile, keyFile: `${dir.path}/no.key` };
    const refusals: string[] = [];
    for (const tls of [{ certFile, keyFile }, missing]) {
      const error = await start({ tls }).then(() => undefined, (error) => error);
      equal(error?.code, "refused");
      refusals.push(error.message.replaceAll(dir.path, ""));
    }
    deepEqual(refusals.map((text) => text.split(":")[0]), [
      'Cannot use the certificate "/one.crt" with the key "/two.key"',
      'Cannot read the key "/no.key"',
    ]);
  },
});
