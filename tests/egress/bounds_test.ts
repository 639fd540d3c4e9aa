/**
 * The bounds of a step's way out: memory, connections, descriptors and time, and that nothing is left of
 * it.
 *
 * @module
 */

import { match, ok as yes, rejects, strictEqual as equal } from "node:assert/strict";
import { systemClock } from "../../src/base/clock.ts";
import { createLog } from "../../src/base/log.ts";
import { openEgress } from "../../src/egress/egress.ts";
import { known } from "../helpers/known_secrets.ts";
import { ManualClock } from "../helpers/manual_clock.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";
import { within } from "../helpers/within.ts";
import { always, egressRig, HEAD, ok, rawServer } from "../rigs/egress_rig.ts";

const HOST = "Host: 127.0.0.2:3128\r\n";
const MIB = 1024 * 1024;

const apiAt = (port: number) => ({ inject: [{ url: `http://127.0.0.1:${port}`, env: "A" }] });

Deno.test("an answer without end is passed on with the memory of a few buffers", async () => {
  const piece = new Uint8Array(MIB).fill(0x61);
  await using server = rawServer(async ({ until, send }) => {
    await until(HEAD);
    await send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: ");
    for (;;) await send(piece);
  });
  await using rig = await egressRig(apiAt(server.port));
  using client = await Deno.connect({ transport: "unix", path: rig.path });
  await client.write(new TextEncoder().encode(`GET / HTTP/1.1\r\n${HOST}\r\n`));
  const buffer = new Uint8Array(256 * 1024);
  const read = async (bytes: number) => {
    for (let done = 0; done < bytes;) done += await client.read(buffer) ?? 0;
  };
  await read(20 * MIB);
  const before = Deno.memoryUsage();
  await read(500 * MIB);
  const after = Deno.memoryUsage();
  yes(after.heapUsed - before.heapUsed < 30 * MIB, "the heap grew");
  yes(after.external - before.external < 30 * MIB, "the memory of buffers grew");
});

Deno.test("an answer that nobody reads holds its sender", async () => {
  let sent = 0;
  const piece = new Uint8Array(MIB);
  await using server = rawServer(async ({ until, connection }) => {
    await until(HEAD);
    await connection.write(new TextEncoder().encode("HTTP/1.1 200 OK\r\n\r\n"));
    for (;;) sent += await connection.write(piece);
  });
  await using rig = await egressRig(apiAt(server.port));
  using client = await Deno.connect({ transport: "unix", path: rig.path });
  await client.write(new TextEncoder().encode(`GET / HTTP/1.1\r\n${HOST}\r\n`));
  let last = -1;
  await until("it stands still", async () => {
    if (sent > 0 && sent === last) return true;
    last = sent;
    await new Promise((resolve) => setTimeout(resolve, 300));
    return undefined;
  });
  yes(sent < 30 * MIB, `${sent / MIB} MiB were taken`);
});

Deno.test("a flood of connections waits, and the others of the daemon do not", async () => {
  await using server = rawServer(always(ok("hello")));
  await using rig = await egressRig(apiAt(server.port));
  await using other = await egressRig(apiAt(server.port));
  const flood = await Promise.all(
    Array.from({ length: 200 }, () => Deno.connect({ transport: "unix", path: rig.path })),
  );
  try {
    const get = `GET / HTTP/1.1\r\n${HOST}\r\n`;
    for (let i = 0; i < 5; i++) equal((await within(1000, other.ask(get)))?.body, "hello");
    for (const connection of flood) connection.close();
    flood.length = 0;
    equal((await within(5000, rig.ask(get)))?.body, "hello");
  } finally {
    for (const connection of flood) connection.close();
  }
});

Deno.test("a step has 48 connections at once, and the next one waits for an end", async () => {
  await using server = rawServer(async ({ until }) => {
    await until(/^never/);
  });
  await using rig = await egressRig(apiAt(server.port));
  const get = new TextEncoder().encode(`GET / HTTP/1.1\r\n${HOST}\r\n`);
  const clients = await Promise.all(Array.from({ length: 60 }, async () => {
    const client = await Deno.connect({ transport: "unix", path: rig.path });
    await client.write(get);
    return client;
  }));
  const served = () => server.received.length;
  await until("48 are served", () => served() === 48 ? true : undefined);
  await systemClock.pause(600); // two more rounds of accepting
  equal(served(), 48);
  await server[Symbol.asyncDispose](); // ends all of them
  await until("the rest is served", () => {
    const failed = rig.reached(`http://127.0.0.1:${server.port}`)?.failed ?? 0;
    return failed === 60 ? true : undefined;
  });
  for (const client of clients) client.close();
});

Deno.test("a step that asks in a loop is accepted 200 times a second", async () => {
  await using rig = await egressRig({ allow: ["a.example"] });
  const start = performance.now();
  for (let i = 0; i < 200; i++) {
    equal((await rig.ask("CONNECT evil.example:443 HTTP/1.1\r\nHost: a\r\n\r\n"))?.status, 403);
  }
  const ms = performance.now() - start;
  yes(ms > 700, `${ms} ms`);
});

Deno.test("a dial that does not end is given up, and keeps its place until it has ended", async () => {
  const clock = new ManualClock();
  await using dir = await tempDir();
  const path = `${dir.path}/s`;
  let resolving = 0;
  const ends: ((addresses: string[]) => void)[] = [];
  await using _egress = await openEgress({
    path,
    rules: { allow: [{ host: "a.example", matches: "name", ports: [443] }], inject: [] },
    headers: [],
    sandbox: "x",
    secrets: known(),
    onRefused: () => {},
    clock,
    log: createLog({ level: "error", format: "json", clock, write: () => {} }),
    dialling: {
      resolve: () => {
        resolving++;
        return new Promise((resolve) => ends.push(resolve));
      },
    },
  });
  const ask = async () => {
    const client = await Deno.connect({ transport: "unix", path });
    await client.write(
      new TextEncoder().encode("CONNECT a.example:443 HTTP/1.1\r\nHost: a\r\n\r\n"),
    );
    return client;
  };
  const answer = async (client: Deno.Conn) => {
    const buffer = new Uint8Array(1000);
    const read = await within(5000, client.read(buffer));
    const rest = await within(5000, client.read(buffer.subarray(read ?? 0)));
    client.close();
    return new TextDecoder().decode(buffer.subarray(0, (read ?? 0) + (rest ?? 0)));
  };
  const pending = await Promise.all(Array.from({ length: 24 }, ask));
  await until("24 are tried", () => resolving === 24 ? true : undefined);
  const waiting = await ask();
  await systemClock.pause(50);
  await clock.advance(15_000);
  match(await answer(waiting), /24 other connections have been tried for 15 seconds/);
  for (const client of pending) {
    match(await answer(client), /cannot be reached: it did not answer within 15 seconds/);
  }
  equal(resolving, 24);
  for (const end of ends) end([]); // the system has given up
  const last = await ask();
  await until("another one is tried", () => resolving === 25 ? true : undefined);
  last.close();
});

Deno.test("connections that say nothing, half a request, or nothing more are closed in time", async () => {
  await using server = rawServer(async ({ until }) => {
    await until(/^never/);
  });
  await using dir = await tempDir();
  const clock = new ManualClock();
  const path = `${dir.path}/s`;
  const rules = {
    allow: [{ host: "127.0.0.1", matches: "address" as const, ports: [server.port] }],
    inject: [],
  };
  await using _egress = await openEgress({
    path,
    rules,
    headers: [],
    sandbox: "x",
    secrets: known(),
    onRefused: () => {},
    clock,
    log: createLog({ level: "error", format: "json", clock, write: () => {} }),
  });
  const address = `127.0.0.1:${server.port}`;
  /** What is said, and the seconds after which the connection is closed. */
  const cases: readonly (readonly [said: string, seconds: number])[] = [
    ["", 120],
    ["GET http", 30],
    [`GET http://${address}/ HTTP/1.1\r\nHost: a\r\n\r\n`, 15 * 60],
    [`CONNECT ${address} HTTP/1.1\r\nHost: a\r\n\r\n`, 15 * 60],
  ];
  for (const [said, seconds] of cases) {
    using client = await Deno.connect({ transport: "unix", path });
    const seen = server.received.length;
    await client.write(new TextEncoder().encode(said));
    let isOver = false;
    const closed = (async () => {
      const buffer = new Uint8Array(1000);
      while (await client.read(buffer).catch(() => null) !== null);
      isOver = true;
    })();
    // Until svc has read it, and reached the server.
    if (said.includes(address)) {
      await until("the server", () => server.received.length > seen ? true : undefined);
    }
    await systemClock.pause(50);
    await clock.advance((seconds - 3) * 1000);
    await systemClock.pause(20);
    equal(isOver, false, `"${said}" is closed too early`);
    await clock.advance(6000);
    await within(5000, closed);
  }
});

Deno.test("a handshake of TLS that does not end holds nothing", async () => {
  await using server = rawServer(async ({ until }) => {
    await until(/^never/); // takes the first bytes of the handshake, and is silent
  });
  const clock = new ManualClock();
  await using dir = await tempDir();
  const path = `${dir.path}/s`;
  const egress = await openEgress({
    path,
    rules: {
      allow: [],
      inject: [{
        secure: true,
        host: "127.0.0.1",
        isAddress: true,
        port: server.port,
        origin: `https://127.0.0.1:${server.port}`,
        base: "",
        env: "A",
        headers: {},
      }],
    },
    headers: [{}],
    sandbox: "x",
    secrets: known(),
    onRefused: () => {},
    clock,
    log: createLog({ level: "error", format: "json", clock, write: () => {} }),
  });
  for (let round = 0; round < 5; round++) {
    using client = await Deno.connect({ transport: "unix", path });
    await client.write(new TextEncoder().encode(`GET / HTTP/1.1\r\n${HOST}\r\n`));
    await until("its first bytes", () => (server.received[round] ?? "") !== "" ? true : undefined);
    await clock.advance(15_000);
    const buffer = new Uint8Array(1000);
    const read = await within(5000, client.read(buffer));
    match(new TextDecoder().decode(buffer.subarray(0, read ?? 0)), /^HTTP\/1\.1 502 /);
  }
  const noneIsLeft = () =>
    until(
      "no connection is left",
      () => connectionsTo(server.port) === 0 ? true : undefined,
      10_000,
    );
  await noneIsLeft();
  const last = await Deno.connect({ transport: "unix", path });
  await last.write(new TextEncoder().encode(`GET / HTTP/1.1\r\n${HOST}\r\n`));
  await until("its first bytes", () => (server.received[5] ?? "") !== "" ? true : undefined);
  await within(1000, egress[Symbol.asyncDispose]());
  last.close();
  await noneIsLeft();
});

Deno.test("disposing closes everything, also in the middle of it", async () => {
  await using server = rawServer(async ({ until, send }) => {
    const head = await until(HEAD);
    if (head.startsWith("GET /slow")) await until(/^never/);
    await send("HTTP/1.1 200 OK\r\n\r\n");
    for (;;) await send("x".repeat(10_000));
  });
  const rig = await egressRig({
    allow: [`127.0.0.1:${server.port}`],
    inject: [{ url: `http://127.0.0.1:${server.port}`, env: "A" }],
  });
  const said = [
    "",
    "GET ",
    `GET /slow HTTP/1.1\r\n${HOST}\r\n`,
    `GET /fast HTTP/1.1\r\n${HOST}\r\n`,
    `CONNECT 127.0.0.1:${server.port} HTTP/1.1\r\nHost: a\r\n\r\n`,
    `POST /slow HTTP/1.1\r\n${HOST}Content-Length: 100\r\n\r\nabc`,
  ];
  const clients = await Promise.all(said.map(async (text) => {
    const client = await Deno.connect({ transport: "unix", path: rig.path });
    await client.write(new TextEncoder().encode(text));
    return client;
  }));
  await until("all are served", () => server.received.length >= 4 ? true : undefined);
  equal(((await Deno.stat(rig.path)).mode ?? 0) & 0o777, 0o600);
  await within(1000, rig.egress[Symbol.asyncDispose]());
  await rejects(Deno.lstat(rig.path), Deno.errors.NotFound);
  for (const client of clients) {
    const buffer = new Uint8Array(65_536);
    while (await within(1000, client.read(buffer).catch(() => null)) !== null);
    client.close();
  }
  await until("the server has nobody", () => server.open === 0 ? true : undefined);
  await rig[Symbol.asyncDispose]();
});

Deno.test("a path that no socket can have is refused, with its remedy", async () => {
  await using dir = await tempDir();
  const options = {
    rules: { allow: [], inject: [] },
    headers: [],
    sandbox: "x",
    secrets: known(),
    onRefused: () => {},
    clock: systemClock,
    log: createLog({ level: "error", format: "json", clock: systemClock, write: () => {} }),
  };
  await rejects(openEgress({ ...options, path: `${dir.path}/${"a".repeat(108)}` }), {
    code: "refused",
    message: /at most 107 bytes.*use a data directory with a shorter path/,
  });
  await rejects(openEgress({ ...options, path: `${dir.path}/gone/s` }), { code: "refused" });
  const taken = await dir.write("taken", "");
  await rejects(openEgress({ ...options, path: taken }), { code: "refused" });
});

/** Connections of this machine to a port, in any state but listening and its last wait. */
function connectionsTo(port: number): number {
  const hex = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  return Deno.readTextFileSync("/proc/self/net/tcp").split("\n").filter((line) => {
    const [, , remote = "", state = ""] = line.trim().split(/\s+/);
    return remote.endsWith(hex) && state !== "0A" && state !== "06";
  }).length;
}
