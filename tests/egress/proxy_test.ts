/**
 * The proxy of a step, through its socket: what is let through, what is refused, and what is said of it.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  ok as yes,
  strictEqual as equal,
} from "node:assert/strict";
import { systemClock } from "../../src/base/clock.ts";
import { createLog } from "../../src/base/log.ts";
import { openEgress } from "../../src/egress/egress.ts";
import type { Network } from "../../src/resources/network.ts";
import { known } from "../helpers/known_secrets.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";
import { within } from "../helpers/within.ts";
import { always, egressRig, HEAD, KEY, ok, rawServer } from "../rigs/egress_rig.ts";

const connectTo = (authority: string, version = "1.1") =>
  `CONNECT ${authority} HTTP/${version}\r\nHost: ${authority}\r\n\r\n`;

/** What a connection says until it is closed. */
async function everything(path: string, ...texts: readonly string[]): Promise<string> {
  using client = await Deno.connect({ transport: "unix", path });
  let said = "";
  const decoder = new TextDecoder("latin1");
  const reading = (async () => {
    const buffer = new Uint8Array(65_536);
    for (let read; (read = await client.read(buffer).catch(() => null)) !== null;) {
      said += decoder.decode(buffer.subarray(0, read));
    }
  })();
  for (const text of texts) {
    const bytes = Uint8Array.from(text, (c) => c.charCodeAt(0));
    for (let done = 0; done < bytes.length;) done += await client.write(bytes.subarray(done));
  }
  await within(5000, reading);
  return said;
}

Deno.test("CONNECT to an allowed host is a tunnel, whose bytes pass as they are", async () => {
  await using server = rawServer(async ({ until, send }) => {
    await until(/^\0hello\xff/);
    await send("\x01back\r\n\r\n\xfe");
    await until(/^more/);
    await send("done");
  });
  const host = `a.example:${server.port}`;
  await using rig = await egressRig({ allow: [host, `127.0.0.1:${server.port}`] });
  // The first bytes may come with the request.
  equal(
    await everything(rig.path, `${connectTo(host)}\0hello\xff`, "more"),
    "HTTP/1.1 200 Connection established\r\n\r\n\x01back\r\n\r\n\u00fedone",
  );
  const { requests, sentBytes, receivedBytes, way } = rig.reached(host)!;
  deepEqual([requests, sentBytes, receivedBytes, way], [1, 11, 14, "tunnel"]);
  deepEqual(rig.lines, []);
  deepEqual(rig.resolved, ["a.example"]);
});

Deno.test("socat and OpenSSH ask for tunnels with HTTP/1.0", async () => {
  await using server = rawServer(({ send }) => send("SSH-2.0-x\r\n"));
  const address = `127.0.0.1:${server.port}`;
  await using rig = await egressRig({ allow: [address] });
  equal(
    await everything(rig.path, `CONNECT ${address} HTTP/1.0\r\n\r\n`),
    "HTTP/1.1 200 Connection established\r\n\r\nSSH-2.0-x\r\n",
  );
});

Deno.test("a tunnel ends on each side by itself", async () => {
  await using server = rawServer(async ({ until, send, connection }) => {
    await until(/^question/);
    const rest = new Uint8Array(10);
    equal(await connection.read(rest), null); // the client has ended, and still listens
    await send("answer");
  });
  const address = `127.0.0.1:${server.port}`;
  await using rig = await egressRig({ allow: [address] });
  using client = await Deno.connect({ transport: "unix", path: rig.path });
  await client.write(new TextEncoder().encode(`${connectTo(address)}question`));
  await client.closeWrite();
  let said = "";
  const buffer = new Uint8Array(1000);
  for (let read; (read = await client.read(buffer)) !== null;) {
    said += new TextDecoder().decode(buffer.subarray(0, read));
  }
  match(said, /answer$/);
});

Deno.test("a refused host is named in the answer, and once in the task's log", async () => {
  await using rig = await egressRig({ allow: ["github.com"] });
  for (let i = 0; i < 3; i++) {
    const answer = await rig.ask(connectTo("Evil.example:443"));
    equal(answer?.status, 403);
    equal(answer?.body, 'svc: evil.example:443 is not allowed by Sandbox "agents"\n');
  }
  equal((await rig.ask("GET http://evil.example/ HTTP/1.1\r\nHost: a\r\n\r\n"))?.status, 403);
  deepEqual(rig.lines, [
    'network: evil.example:443 is not allowed by Sandbox "agents"',
    'network: evil.example:80 is not allowed by Sandbox "agents"',
  ]);
  deepEqual(rig.resolved, []); // not even a query for its name went out
  const { refused, requests } = rig.reached("evil.example:443")!;
  deepEqual([refused, requests], [3, 0]);
});

Deno.test("the lines about refused hosts, and the hosts that are counted, are bounded", async () => {
  await using rig = await egressRig({ allow: ["github.com"] });
  const hosts = Array.from({ length: 150 }, (_, i) => `h${i}.example:443`);
  for (const host of hosts) equal((await rig.ask(connectTo(host)))?.status, 403);
  equal(rig.lines.length, 51);
  equal(rig.lines.at(-1), "network: more was refused, which is not listed here");
  const report = rig.egress.report();
  yes(report.length <= 101, `${report.length} hosts`);
  equal(report.reduce((sum, { refused }) => sum + refused, 0), 150);
});

/** Addresses of other machines than the one that a name should stand for. */
const INSIDE = [
  "127.0.0.1",
  "127.8.8.8",
  "10.0.0.7",
  "172.16.0.1",
  "192.168.1.1",
  "169.254.169.254",
  "100.100.100.200",
  "0.0.0.0",
  "224.0.0.1",
  "::1",
  "::",
  "::ffff:127.0.0.1",
  "::ffff:a00:1",
  "fe80::1",
  "fd00::1",
  "64:ff9b::7f00:1",
  "2002:7f00:1::1",
  "203.0.114.5", // the machine's own, see below
  "2606:4700::5",
  "not an address",
];

for (const address of INSIDE) {
  Deno.test(`an allowed name that is ${address} is refused`, async () => {
    await using rig = await egressRig({ allow: ["a.example", "*.b.example:80"] }, {
      names: { "a.example": [address], "x.b.example": [address] },
      ownAddresses: () => ["203.0.114.5", "2606:4700:0::5"],
    });
    const answer = await rig.ask(connectTo("a.example:443"));
    equal(answer?.status, 403);
    equal(
      answer?.body,
      `svc: a.example:443 is ${address}, an address that Sandbox "agents" does not name\n`,
    );
    const plain = await rig.ask("GET http://x.b.example/ HTTP/1.1\r\nHost: a\r\n\r\n");
    equal(plain?.status, 403);
    equal(rig.lines.length, 2);
    equal(rig.reached("a.example:443")?.refused, 1);
  });
}

Deno.test("an API whose name is an address of this network gets no key", async () => {
  await using rig = await egressRig({
    inject: [{ url: "https://api.example", env: "A", headers: { a: "b" } }],
  });
  const answer = await rig.ask("GET / HTTP/1.1\r\nHost: 127.0.0.2:3128\r\n\r\n");
  equal(answer?.status, 403);
  match(answer!.body, /^svc: api\.example:443 is 127\.0\.0\.1, an address that Sandbox "agents"/);
});

Deno.test("a name is resolved once, and the address that was checked is dialled", async () => {
  await using server = rawServer(always(ok("inside")));
  await using other = rawServer(always(ok("allowed")));
  const port = other.port;
  let asked = 0;
  await using rig = await egressRig({ allow: [`a.example:${port}`, `127.0.0.1:${port}`] }, {
    // The second answer is another one: whoever asks twice connects to what was not checked.
    resolve: () => Promise.resolve([asked++ === 0 ? "127.0.0.1" : "127.0.0.9"]),
  });
  const get = `GET http://a.example:${port}/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
  equal((await rig.ask(get))?.body, "allowed");
  equal(asked, 1);
  equal((await rig.ask(get))?.status, 403);
  equal(asked, 2);
  equal(server.received.length, 0);
});

Deno.test("of several addresses only those that may be dialled are", async () => {
  await using server = rawServer(always(ok("hello")));
  const allow = [`a.example:${server.port}`, `127.0.0.1:${server.port}`];
  await using rig = await egressRig({ allow }, {
    names: { "a.example": ["127.0.0.2", "10.0.0.1", "127.0.0.1"] },
  });
  const get = `GET http://a.example:${server.port}/ HTTP/1.1\r\nHost: a\r\n\r\n`;
  equal((await rig.ask(get))?.body, "hello");
});

Deno.test("a host that cannot be reached is 502, and a line in the log", async () => {
  const free = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = free.addr as Deno.NetAddr;
  free.close();
  const network: Network = { allow: [`127.0.0.1:${port}`, "gone.example", "none.example"] };
  await using rig = await egressRig(network, {
    resolve: (name) =>
      name === "none.example" ? Promise.resolve([]) : Promise.reject(new Error("ENOTFOUND")),
  });
  for (const host of [`127.0.0.1:${port}`, "gone.example:443", "none.example:443"]) {
    equal((await rig.ask(connectTo(host)))?.status, 502);
    equal(rig.reached(host)?.failed, 1);
  }
  deepEqual(rig.lines, [
    `network: 127.0.0.1:${port} cannot be reached: nothing listens there`,
    "network: gone.example:443 cannot be reached: its name is not known (DNS)",
    "network: none.example:443 cannot be reached: its name is not known (DNS)",
  ]);
});

Deno.test("plain HTTP is passed on without what belongs to the proxy", async () => {
  await using server = rawServer(always(ok("hello", "X-A: b", "Keep-Alive: timeout=5")));
  const host = `a.example:${server.port}`;
  await using rig = await egressRig({ allow: [host, `127.0.0.1:${server.port}`] });
  using client = await rig.connect();
  for (const path of ["/one?x=1", "/two"]) {
    await client.send(
      `POST http://${host}${path} HTTP/1.1\r\nHost: other.example\r\nX-Hop: 1\r\n` +
        "Connection: keep-alive, x-hop\r\nProxy-Connection: keep-alive\r\nTE: trailers\r\n" +
        "Proxy-Authorization: Basic eDp5\r\nUpgrade: h2c\r\nAuthorization: mine\r\n" +
        "Content-Length: 3\r\n\r\nabc",
    );
    const answer = await client.answer();
    equal(answer?.body, "hello");
    match(answer!.head, /^X-A: b\r?$/m);
    yes(!/^keep-alive/im.test(answer!.head));
  }
  equal(server.received.length, 1); // one connection
  equal(
    server.received[0],
    ["/one?x=1", "/two"].map((path) =>
      `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: mine\r\nContent-Length: 3\r\n\r\nabc`
    ).join(""),
  );
  const { requests, statuses, way } = rig.reached(host)!;
  deepEqual([requests, statuses, way], [2, { 200: 2 }, "http"]);
});

Deno.test("each request of a connection goes where it says, not where the one before went", async () => {
  await using one = rawServer(always(ok("one")));
  await using two = rawServer(always(ok("two")));
  const allow = [`127.0.0.1:${one.port}`, `127.0.0.1:${two.port}`];
  await using rig = await egressRig({ allow });
  using client = await rig.connect();
  for (const [at, body] of [[allow[0], "one"], [allow[1], "two"], [allow[0], "one"]]) {
    await client.send(`GET http://${at}/ HTTP/1.1\r\nHost: ${at}\r\n\r\n`);
    equal((await client.answer())?.body, body);
  }
  await client.send("GET http://evil.example/ HTTP/1.1\r\nHost: a\r\n\r\n");
  equal((await client.answer())?.status, 403);
  await until("closed", () => one.open === 0 && two.open === 0 ? true : undefined);
});

/** Requests that hold a second one, for whoever reads the first otherwise. */
const SMUGGLED: Readonly<Record<string, string>> = {
  "length and chunks": "Content-Length: 60\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
  "two lengths": "Content-Length: 0\r\nContent-Length: 60\r\n\r\n",
  "a folded coding": "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
  "a coding with a blank": "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
  "a bare LF": "X: a\nContent-Length: 60\r\n\r\n",
  "a bare CR": "X: a\rContent-Length: 60\r\n\r\n",
  "a NUL": "X: \0\r\nContent-Length: 60\r\n\r\n",
  "an unknown coding": "Transfer-Encoding: cow\r\n\r\n",
  "chunks that are none": "Transfer-Encoding: chunked\r\n\r\n0x3c\r\n",
  "an extension of a chunk": "Transfer-Encoding: chunked\r\n\r\n3c;a=\nb\r\n",
};

for (const [what, rest] of Object.entries(SMUGGLED)) {
  Deno.test(`a request with ${what} smuggles nothing to a server`, async () => {
    await using server = rawServer(always(ok("hello")));
    const address = `127.0.0.1:${server.port}`;
    await using rig = await egressRig({ allow: [address] });
    const second = `GET /second HTTP/1.1\r\nHost: ${address}\r\n\r\n`;
    const said = await everything(
      rig.path,
      `POST http://${address}/first HTTP/1.1\r\nHost: ${address}\r\n${rest}${second}`,
    );
    match(said, /^HTTP\/1\.1 400 /);
    equal(said.split("HTTP/1.1 ").length, 2, "more than one answer");
    yes(!server.received.join("").includes("second"), server.received.join(""));
    match(rig.lines.join("\n"), /^network: a request is refused: /);
  });
}

Deno.test("a tunnel to the injections' own address, or to another proxy in it, is none", async () => {
  await using rig = await egressRig({ allow: ["a.example"] });
  equal((await rig.ask(connectTo("127.0.0.1:3128")))?.status, 403);
  equal((await rig.ask(connectTo("127.0.0.2:3128")))?.status, 403);
});

Deno.test("requests of a pipeline are answered in their order", async () => {
  await using server = rawServer(async ({ until, send }) => {
    for (;;) {
      const path = (await until(HEAD)).split(" ")[1] ?? "";
      await send(ok(path));
    }
  });
  const address = `127.0.0.1:${server.port}`;
  await using rig = await egressRig({ allow: [address] });
  using client = await rig.connect();
  const get = (path: string) => `GET http://${address}${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
  await client.send(get("/1") + get("/2") + get("/3"));
  for (const path of ["/1", "/2", "/3"]) equal((await client.answer())?.body, path);
});

Deno.test("a secret in the name of a host is not in the log", async () => {
  await using rig = await egressRig({ allow: ["*.b.example:80", "*.gone.example"] }, {
    resolve: (name) =>
      name.endsWith("gone.example") ? Promise.resolve([]) : Promise.resolve(["10.0.0.1"]),
  });
  for (const host of ["evil.example:443", "b.example:80", "gone.example:80"]) {
    const secret = `${KEY}.${host}`;
    yes([403, 502].includes((await rig.ask(connectTo(secret)))?.status ?? 0));
    await rig.ask(`GET http://${secret}/ HTTP/1.1\r\nHost: a\r\n\r\n`);
  }
  match(rig.lines[0] ?? "", /^network: \*\*\*\.evil\.example:443 is not allowed/);
  equal(rig.lines.length, 3);
  const everything = JSON.stringify([rig.lines, rig.logged, rig.egress.report()]);
  yes(!everything.includes(KEY), everything);
});

Deno.test("names are resolved by the system, and the addresses of its interfaces are its own", async () => {
  const own = Deno.networkInterfaces().map(({ address }) => address);
  await using dir = await tempDir();
  const said: string[] = [];
  const rule = (host: string) => ({ host, matches: "name" as const, ports: [443] });
  await using _egress = await openEgress({
    path: `${dir.path}/s`,
    rules: { allow: [rule("localhost")], inject: [] },
    headers: [],
    sandbox: "x",
    secrets: known(),
    onRefused: (line) => void said.push(line),
    clock: systemClock,
    log: createLog({ level: "error", format: "json", clock: systemClock, write: () => {} }),
  });
  match(await everything(`${dir.path}/s`, connectTo("localhost:443")), /^HTTP\/1\.1 403 /);
  const [, address = ""] = /^network: localhost:443 is (\S+), an address/.exec(said[0] ?? "") ?? [];
  yes(own.includes(address), address);
});
