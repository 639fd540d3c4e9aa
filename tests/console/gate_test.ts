/**
 * The gate of the console: what other users of the machine and other sites try is refused before
 * the daemon, or any ticket or key, is looked at.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { newAddress } from "../../src/console/address.ts";
import { PAGES } from "../../src/console/pages.ts";
import type { RawAnswer } from "../helpers/raw_client.ts";
import { codeOf, type ConsoleRig, consoleRig, MODES, TEAM_ORIGIN } from "../rigs/console_rig.ts";

/** Headers of every answer, whatever it is. */
const HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
    "require-trusted-types-for 'script'; trusted-types 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
} as const;

/** The address of a console on a machine without 127.0.0.0/8. */
const OTHER = newAddress((variable) => variable === "WSL_DISTRO_NAME" ? "Debian" : undefined);

/** A connection that was cut is gone a moment later, which the sanitizers take for a leak. */
const LOOSE = { sanitizeOps: false, sanitizeResources: false };

Deno.test(
  "connections that send nothing keep no other out: the 65th takes the place of one",
  LOOSE,
  async () => {
    await using rig = await consoleRig();
    await using idle = new AsyncDisposableStack();
    const silent = await Promise.all(Array.from({ length: 64 }, async () => {
      const connection = await Deno.connect({ hostname: rig.address.host, port: rig.server.port });
      idle.defer(() => void closeQuietly(connection));
      return connection;
    }));
    const ended = silent.map((one) => one.read(new Uint8Array(1)).catch(() => null));
    equal((await rig.send("GET /", { host: rig.host })).status, 200);
    equal(await Promise.race(ended), null);
  },
);

function closeQuietly(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch {
    // closed already
  }
}

Deno.test("through an ssh tunnel, the port at the other end counts", async () => {
  await using rig = await consoleRig();
  const authorization = `Bearer ${await rig.key()}`;
  const host = `${rig.address.host}:4`;
  const there = await rig.page("/v1/status", {}, { host, origin: `http://${host}`, authorization });
  equal(there.status, 200);
  const mixed = await rig.page("/v1/status", {}, { host, authorization });
  equal(codeOf(mixed), "403 forbidden", "the Origin is that of another port");
});

/** What differs from a request of the page, and how it is refused. */
const FOREIGN: readonly (readonly [Readonly<Record<string, string | undefined>>, string])[] = [
  [{ "content-type": undefined }, "415 unsupported_type"],
  [{ "content-type": "text/plain" }, "415 unsupported_type"],
  [{ "content-type": "text/plain; application/json" }, "415 unsupported_type"],
  [{ "content-type": "application/x-www-form-urlencoded" }, "415 unsupported_type"],
  [{ "content-type": "multipart/form-data; boundary=x" }, "415 unsupported_type"],
  [{ "content-type": "application/json; charset=utf-8" }, "415 unsupported_type"],
  [{ "content-type": "application/json, text/plain" }, "415 unsupported_type"],
  [{ "content-type": "application/csp-report" }, "415 unsupported_type"],
  [{ origin: undefined }, "403 forbidden"],
  [{ origin: "null" }, "403 forbidden"],
  [{ origin: "" }, "403 forbidden"],
  [{ origin: "https://attacker.example" }, "403 forbidden"],
  [{ origin: "http://127.0.0.1:1" }, "403 forbidden"],
  [{ origin: "http://127.0.0.1" }, "403 forbidden"],
  [{ "sec-fetch-site": "cross-site" }, "403 forbidden"],
  [{ "sec-fetch-site": "same-site" }, "403 forbidden"], // another port of the same address
  [{ "sec-fetch-site": "none" }, "403 forbidden"],
  [{ "sec-fetch-site": "" }, "403 forbidden"],
];

/** Hosts that lead to the console of a team, and are not the one of its links. */
function wrongForTeam(port: number): string[] {
  const { host } = new URL(TEAM_ORIGIN);
  return [
    `${host}:443`,
    `${host}:${port}`,
    `${host}.`,
    `${host}:`,
    host.toUpperCase(),
    `www.${host}`,
    `x${host}`,
    `${host}.attacker.example`,
    "attacker.example",
    "svc.example.co",
    "svcxexample.com",
    `127.0.0.1:${port}`,
    "127.0.0.1",
    `localhost:${port}`,
    "localhost",
    `[::1]:${port}`,
    `x@${host}`,
    `${host}@attacker.example`,
    `${host}/`,
    `https://${host}`,
    "",
  ];
}

for (const mode of MODES) {
  Deno.test(`a request to another host than that of the links is 421, GET and a good key too: ${mode}`, async () => {
    await using rig = await consoleRig({ mode });
    const authorization = `Bearer ${await rig.key()}`;
    const { address: { host: own }, server: { port } } = rig;
    const wrong = mode === "team" ? wrongForTeam(port) : [
      `127.0.0.1:${port}`,
      `${newAddress(() => undefined).host}:${port}`,
      `${OTHER.host}:${port}`,
      `x.${own}:${port}`,
      `1${own}:${port}`,
      "attacker.example",
      `attacker.example:${port}`,
      `localhost:${port}`,
      "localhost",
      own,
      `${own}.:${port}`,
      `${own}.attacker.example:${port}`,
      `${own}0:${port}`,
      `127.0.0.2:${port}`,
      `127.1:${port}`,
      `2130706433:${port}`,
      `0.0.0.0:${port}`,
      `[::1]:${port}`,
      `[::ffff:${own}]:${port}`,
      `x@${own}:${port}`,
      `${own}:${port}@attacker.example`,
      `${own}:${port}/`,
      `${own}:${port} `.padEnd(30, "x"),
      `${own}:123456`,
      `${own}:`,
      "",
    ];
    for (const host of wrong) {
      const origin = mode === "own" ? `http://${host}` : TEAM_ORIGIN;
      const post = await rig.page("/v1/status", {}, { host, origin, authorization });
      ok([421, 400].includes(post.status), `POST with ${host}: ${post.status}`);
      const get = await rig.send("GET /", { host });
      ok([421, 400].includes(get.status), `GET with ${host}: ${get.status}`);
      if (get.status === 421) equal(codeOf(get), "421 misdirected"); // 400: not even HTTP
    }
    // Newer runtimes answer 400 before anybody of ours is asked.
    const isRefused = (answer: RawAnswer) =>
      answer.status === 400 || codeOf(answer) === "421 misdirected";
    ok(isRefused(await rig.send("GET /", {})), "no Host at all");
    const twice = await rig.send("GET /", { "host": rig.host, "Host": "attacker.example" });
    ok(isRefused(twice), "two of them");
    const absolute = await rig.send("GET http://attacker.example/", { host: rig.host });
    equal(codeOf(absolute), "421 misdirected");
    deepEqual(rig.calls, []);
  });

  Deno.test(`GET gives the page and its files, and nothing that a path could name: ${mode}`, async () => {
    await using rig = await consoleRig({ mode });
    const get = (target: string) => rig.send(`GET ${target}`, { host: rig.host });
    const pages = PAGES.map((page) => `/${page}`);
    const good = [
      "/",
      "/?outcome=rejected",
      "/app.js",
      "/task/01M8/log",
      "/trigger/a.b-c?x=../..",
      ...pages,
    ];
    for (const target of good) {
      const { status, body } = await get(target);
      deepEqual([status, body], [200, "<!doctype html><title>the page</title>"], target);
    }
    const bad = [
      "/..",
      "/../../etc/passwd",
      "/task/../../etc/passwd",
      "/task/..",
      "/task/.",
      "/%2e%2e/etc/passwd",
      "/task/%2e%2e",
      "//etc/passwd",
      "//attacker.example/",
      "/\\..\\..",
      "/@fs/etc/passwd",
      "/app.js?raw",
      "/app.js?",
      "/app.js/",
      "/app.js%00.css",
      "/APP.JS",
      "/app.js.map",
      "/index.html",
      "/missing.js",
      "/__proto__",
      "/constructor",
      "/__proto__.js",
      "/session",
      "/v1/status",
      "/metrics",
      "/healthz",
      "/nothing",
      "/tasks2",
      "/task/a/b/c/d/e",
      "/task//a",
      "*",
    ];
    for (const target of bad) {
      const answer = await get(target);
      if (answer.status !== 400) equal(codeOf(answer), "404 not_found", target); // 400: not even HTTP
    }
    deepEqual(rig.calls, []);
  });

  Deno.test(`a request that another site or port could have sent is refused, even with a key: ${mode}`, async () => {
    await using rig = await consoleRig({ mode });
    const authorization = `Bearer ${await rig.key()}`;
    const { host, origin: own } = rig;
    for (const [change, expected] of FOREIGN) {
      const name = JSON.stringify(change);
      const call = await rig.page("/v1/status", {}, { authorization, ...change });
      equal(codeOf(call), expected, name);
      const ticket = await rig.ticket();
      equal(codeOf(await rig.page("/session", { ticket }, change)), expected, `ticket, ${name}`);
      equal((await rig.page("/session", { ticket })).status, 200, `it is still good: ${name}`);
    }
    const other = own.startsWith("https") ? `http://${host}` : `https://${host}`;
    for (const origin of [other, `${own}/`, `${own}.attacker.example`, own.toUpperCase()]) {
      equal(codeOf(await rig.page("/v1/status", {}, { authorization, origin })), "403 forbidden");
    }
    deepEqual(rig.calls, []);
    const fresh = `Bearer ${await rig.key()}`;
    const old = { "authorization": fresh, "sec-fetch-site": undefined };
    equal((await rig.page("/v1/status", {}, old)).status, 200, "a browser that does not send it");
  });

  Deno.test(`other methods are 405, OPTIONS too, and no answer allows another site anything: ${mode}`, async () => {
    await using rig = await consoleRig({ mode });
    const authorization = `Bearer ${await rig.key()}`;
    const { host } = rig;
    const headers = {
      host,
      origin: "https://attacker.example",
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization,content-type",
      "access-control-request-private-network": "true",
    };
    const answers = [];
    for (const method of ["OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "get"]) {
      for (const path of ["/", "/session", "/v1/status"]) {
        const answer = await rig.send(`${method} ${path}`, headers);
        equal(codeOf(answer), "405 method_not_allowed", `${method} ${path}`);
        answers.push(answer);
      }
    }
    answers.push(await rig.send("GET /", { host, origin: "https://attacker.example" }));
    answers.push(await rig.page("/v1/status", {}, { authorization }));
    if (mode === "own") {
      const head = await fetch(`${rig.origin}/`, { method: "HEAD" });
      equal(head.status, 405);
    }
    for (const { head } of answers) ok(!/^access-control-/im.test(head), head);
  });

  Deno.test(`every answer has the headers that shut the page in: ${mode}`, async () => {
    await using rig = await consoleRig({
      mode,
      daemon: ({ path }) =>
        path === "/v1/get"
          ? Response.json({ code: "not_found" }, {
            status: 404,
            headers: { "content-type": "application/problem+json" },
          })
          : Response.json({}, {
            headers: {
              // none of these is passed on
              "set-cookie": "a=b",
              "access-control-allow-origin": "*",
              "content-security-policy": "default-src *",
              "cache-control": "public",
              "refresh": "0; url=https://attacker.example",
            },
          }),
    });
    const authorization = `Bearer ${await rig.key()}`;
    const answers = {
      page: await rig.send("GET /", { host: rig.host }),
      file: await rig.send("GET /app.js", { host: rig.host }),
      nothing: await rig.send("GET /nothing", { host: rig.host }),
      misdirected: await rig.send("GET /", { host: "attacker.example" }),
      options: await rig.send("OPTIONS /", { host: rig.host }),
      foreign: await rig.page("/v1/status", {}, { origin: "null" }),
      type: await rig.page("/v1/status", {}, { "content-type": "text/plain" }),
      ticket: await rig.page("/session", { ticket: "x" }),
      session: await rig.page("/session", { ticket: await rig.ticket() }),
      anonymous: await rig.page("/v1/status", {}),
      operation: await rig.page("/v1/status", {}, { authorization }),
      refusal: await rig.page("/v1/get", {}, { authorization }),
      forbidden: await rig.page("/v1/token.create", {}, { authorization }),
      large: await rig.page("/v1/status", { a: "x".repeat(1024 * 1024) }, { authorization }),
    };
    for (const [name, { head }] of Object.entries(answers)) {
      const lines = head.split("\r\n").slice(1).map((line) => line.split(": "))
        .map(([one = "", ...rest]) => [one.toLowerCase(), ...rest]);
      for (const [header, value] of Object.entries(HEADERS)) {
        const found = lines.filter(([one]) => one === header).map(([, ...rest]) => rest.join(": "));
        deepEqual(found, [value], `${header} of ${name}`);
      }
      const more = lines.map(([one = ""]) => one).filter((one) => !Object.hasOwn(HEADERS, one));
      const known = [
        "content-type",
        "content-length",
        "content-encoding",
        "transfer-encoding",
        "date",
        "vary",
        "connection",
        // a team logs in by itself
        ...(mode === "team" && head.startsWith("HTTP/1.1 401") ? ["svc-login"] : []),
      ];
      deepEqual(more.filter((one) => !known.includes(one)), [], `headers of ${name}`);
    }
    match(answers.page.head, /^HTTP\/1\.1 200/);
    deepEqual([answers.refusal.status, answers.operation.status], [404, 200]);
  });

  Deno.test(`a request in pieces is judged as a whole one, and a key in a cookie or a query is none: ${mode}`, async () => {
    await using rig = await consoleRig({ mode });
    const key = await rig.key();
    const tries: readonly Readonly<Record<string, string>>[] = [
      { cookie: `key=${key}; authorization=Bearer ${key}; __Host-svc-login=${key}` },
      { authorization: key },
      { authorization: `bearer ${key}` },
      { authorization: `Bearer  ${key}` },
      { authorization: `Bearer ${key}, Bearer ${key}` },
      { authorization: `Bearer ${key.toUpperCase()}` },
      { authorization: `Bearer ${key.slice(1)}` },
      { authorization: "Bearer " },
      { authorization: `Basic ${btoa(`:${key}`)}` },
    ];
    for (const change of tries) {
      const answer = await rig.page("/v1/status", {}, change);
      equal(codeOf(answer), "401 unauthorized", JSON.stringify(change));
    }
    equal(codeOf(await rig.page(`/v1/status?key=${key}`, {})), "404 not_found");
    deepEqual(rig.calls, []);
    await works(rig, key);
  });
}

async function works(rig: ConsoleRig, key: string): Promise<void> {
  const { status } = await rig.page("/v1/status", {}, { authorization: `Bearer ${key}` });
  equal(status, 200);
}
