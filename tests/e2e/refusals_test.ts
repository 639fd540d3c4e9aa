/**
 * Requests that must start nothing: each gets exactly its status and its code, in a body
 * that tells a stranger nothing, and leaves no task.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { type Answer, type Send, startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { githubHeaders, signGithub } from "../helpers/github.ts";
import { secretStore, trigger, workflow } from "../helpers/manifests.ts";
import { NO_DATABASE, programTest } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";

const SECRET = "a secret of 32 bytes, or so it is";
const MAX_BODY = 64 * 1024;
const BODY = '{"ref":"refs/heads/main","number":7}';
const signed = githubHeaders(SECRET, BODY);
const signature = signGithub(SECRET, BODY);

interface Case extends Send {
  readonly name: string;
  /** `/webhook/plain` when absent. */
  readonly path?: string;
}

interface Group {
  readonly name: string;
  readonly status: number;
  readonly code: string;
  readonly cases: readonly Case[];
}

/** The signed body with other headers; one whose value is `undefined` is left out. */
function withHeaders(changes: Record<string, string | undefined>): Pick<Send, "headers" | "body"> {
  const entries = Object.entries({ ...signed, ...changes });
  const headers = Object.fromEntries(
    entries.filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  return { headers, body: BODY };
}

function signedBody(body: string | Uint8Array): Pick<Send, "headers" | "body"> {
  return { headers: githubHeaders(SECRET, body), body };
}

/** JSON of a little more than the cap. */
const LARGE = `{"a":"${"x".repeat(MAX_BODY - 7)}"}`;

const GROUPS: readonly Group[] = [
  {
    name: "401: what is not authenticated, for whatever reason",
    status: 401,
    code: "unauthorized",
    cases: [
      { name: "one byte changed", headers: signed, body: BODY.replace("7", "8") },
      { name: "one byte added", headers: signed, body: `${BODY}\n` },
      { name: "an empty body under the signature of another", headers: signed, body: "" },
      { name: "no signature", ...withHeaders({ "x-hub-signature-256": undefined }) },
      { name: "an empty signature", ...withHeaders({ "x-hub-signature-256": "" }) },
      { name: "no prefix", ...withHeaders({ "x-hub-signature-256": signature.slice(7) }) },
      {
        name: "another prefix",
        ...withHeaders({ "x-hub-signature-256": `v0=${signature.slice(7)}` }),
      },
      { name: "a digit short", ...withHeaders({ "x-hub-signature-256": signature.slice(0, -1) }) },
      { name: "a digit more", ...withHeaders({ "x-hub-signature-256": `${signature}0` }) },
      {
        name: "no hexadecimal",
        ...withHeaders({ "x-hub-signature-256": `sha256=${"z".repeat(64)}` }),
      },
      {
        name: "two signatures",
        ...withHeaders({ "x-hub-signature-256": `${signature}, ${signature}` }),
      },
      {
        name: "the signature in another header",
        ...withHeaders({ "x-hub-signature-256": undefined, "x-webhook-signature": signature }),
      },
      {
        name: "GitHub's old SHA-1 only",
        ...withHeaders({
          "x-hub-signature-256": undefined,
          "x-hub-signature": `sha1=${"0".repeat(40)}`,
        }),
      },
      { name: "another secret", headers: githubHeaders(`${SECRET}.`, BODY), body: BODY },
      { name: "the empty secret", headers: githubHeaders("", BODY), body: BODY },
      {
        name: "a SecretStore that holds nothing",
        path: "/webhook/empty-store",
        ...withHeaders({}),
      },
      {
        name: "a SecretStore that holds nothing, signed with the empty secret",
        path: "/webhook/empty-store",
        headers: githubHeaders("", BODY),
        body: BODY,
      },
      { name: "a SecretStore that does not exist", path: "/webhook/dangling", ...withHeaders({}) },
      { name: "no authentication configured", path: "/webhook/open", ...withHeaders({}) },
      { name: "no webhook block", path: "/webhook/bare", ...withHeaders({}) },
      { name: "a CRD that does not exist", path: "/webhook/crd", ...withHeaders({}) },
      {
        name: "a CRD that does not exist, beside a secret",
        path: "/webhook/crd-too",
        ...withHeaders({}),
      },
      { name: "no JSON, not signed", headers: {}, body: "{" },
    ],
  },
  {
    name: "404: a path that names no trigger",
    status: 404,
    code: "not_found",
    cases: [
      "/webhook/unknown",
      "/webhook/shop/plain",
      "/webhook/%70lain",
      "/webhook/plain/",
      "/webhook//plain",
      "/webhook/Plain",
      "/webhook/",
      "/webhook",
      "/Webhook/plain",
      "/",
      "/webhook/default/plain/more",
      "/webhook/__proto__",
    ].map((path) => ({ name: path, path, ...withHeaders({}) })),
  },
  {
    name: "400: authenticated, but no JSON object",
    status: 400,
    code: "invalid",
    cases: [
      "",
      "{",
      "null",
      "true",
      "7",
      '"text"',
      "[]",
      "{} {}",
      "{'a':1}",
      '{"a":01}',
      "NaN",
      "[".repeat(50_000),
      '{"a":"\t"}',
      "\u00a0{}",
    ].map((body) => ({ name: `body ${body.slice(0, 20)}`, ...signedBody(body) })).concat([
      {
        name: "body not UTF-8",
        ...signedBody(Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d)),
      },
    ]),
  },
  {
    name: "415: a content type or an encoding that is not read",
    status: 415,
    code: "unsupported_type",
    cases: [
      ...[
        "text/plain",
        "application/octet-stream",
        "application/x-ndjson",
        "application/xml",
        "application/jsonx",
        "multipart/form-data",
      ]
        .map((type) => ({ name: type, ...withHeaders({ "content-type": type }) })),
      { name: "gzip", ...withHeaders({ "content-encoding": "gzip" }) },
    ],
  },
];

const SIGNED = `X-Hub-Signature-256: ${signature}`;
const LENGTH = `Content-Length: ${BODY.length}`;

/** Deno 2.9 refuses them by itself, with 400, before a handler sees them. */
const TOO_LARGE_HEADERS = Deno.version.deno.startsWith("2.7.") ? 431 : 400;

/** Requests that no HTTP client would send, each signed well. */
const RAW: readonly {
  name: string;
  start?: string;
  headers: readonly string[];
  body: string;
  status: number;
}[] = [
  {
    name: "the signature in two header lines",
    headers: ["Host: a", SIGNED, SIGNED, LENGTH],
    body: BODY,
    status: 401,
  },
  {
    name: "a path in Host",
    start: "POST /plain HTTP/1.1",
    headers: ["Host: a/webhook", SIGNED, LENGTH],
    body: BODY,
    status: 400,
  },
  { name: "a blank in Host", headers: ["Host: a b", SIGNED, LENGTH], body: BODY, status: 400 },
  { name: "two Hosts", headers: ["Host: a", "Host: b", SIGNED, LENGTH], body: BODY, status: 400 },
  {
    name: "Content-Length with Transfer-Encoding",
    headers: ["Host: a", SIGNED, LENGTH, "Transfer-Encoding: chunked"],
    body: `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`,
    status: 400,
  },
  {
    name: "headers of more than 64 KiB",
    headers: ["Host: a", SIGNED, LENGTH, ...Array(70).fill(`X-Filler: ${"x".repeat(1000)}`)],
    body: BODY,
    status: TOO_LARGE_HEADERS,
  },
  {
    name: "a body over the cap that is still on its way, by Content-Length",
    headers: ["Host: a", SIGNED, "Content-Length: 100000000"],
    body: "{",
    status: 413,
  },
  {
    name: "a body over the cap that is still on its way, in chunks",
    headers: ["Host: a", SIGNED, "Transfer-Encoding: chunked"],
    body: `20000\r\n${"x".repeat(0x20000)}\r\n`,
    status: 413,
  },
];

programTest("POST /webhook/{trigger} starts no task of what it refuses", async (program, t) => {
  await using daemon = await startHost(program);
  for (const { name, status, code, cases } of GROUPS) {
    await t.step(name, async () => {
      for (const { name, path = "/webhook/plain", ...send } of cases) {
        expectProblem(await daemon.send(path, send), { name, status, code });
      }
      deepEqual(await daemon.tasks(), []);
    });
  }

  await t.step("405 with Allow: another method", async () => {
    for (const method of ["GET", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      const answer = await daemon.send("/webhook/plain", { method, headers: signed });
      expectProblem(answer, { name: method, status: 405, code: "method_not_allowed" });
      equal(answer.headers.get("allow"), "POST");
    }
    const head = await daemon.send("/webhook/plain", { method: "HEAD" });
    deepEqual([head.status, head.headers.get("allow"), head.text], [405, "POST", ""]);
    deepEqual(await daemon.tasks(), []);
  });

  await t.step("hostile framing, hosts and headers", async () => {
    for (const { name, start, headers, body, status } of RAW) {
      const head = [start ?? "POST /webhook/plain HTTP/1.1", ...headers, "", ""].join("\r\n");
      equal(await daemon.sendRaw(head + body), status, name);
    }
    deepEqual(await daemon.tasks(), []);
  });

  await t.step("no answer allows another origin to read it", async () => {
    const headers = { ...signed, origin: "https://evil.example" };
    for (const send of [{ headers, body: BODY }, { method: "OPTIONS", headers }]) {
      const answer = await daemon.send("/webhook/dangling", send);
      deepEqual([...answer.headers.keys()].filter((name) => name.startsWith("access-control")), []);
    }
  });
});

programTest("a body of exactly the cap is accepted, however it comes", async (program) => {
  await using daemon = await startHost(program);
  const body = LARGE.replace("x", "");
  equal(body.length, MAX_BODY);
  equal((await daemon.send("/webhook/plain", signedBody(body))).status, 200);
  equal((await daemon.send("/webhook/plain", { ...signedBody(body), chunked: true })).status, 200);
  await daemon.settled();
}, { fileOnly: NO_DATABASE });

// A server that answers and closes while the rest of a body still comes in resets the connection, and
// then some senders never see the answer: hence so many.
programTest("413: a body over the cap, and every sender gets to read it", async (program) => {
  await using daemon = await startHost(program);
  for (const bytes of [MAX_BODY + 1, 200_000, 1_000_000]) {
    const send = signedBody(LARGE.padEnd(bytes, " "));
    for (const [name, chunked] of [["by Content-Length", false], ["in chunks", true]] as const) {
      for (let i = 1; i <= 10; i++) {
        const answer = await daemon.send("/webhook/plain", { ...send, chunked }).catch((cause) => {
          throw new Error(`${bytes} bytes ${name}, request ${i} got no answer`, { cause });
        });
        expectProblem(answer, { name, status: 413, code: "too_large" });
      }
    }
  }
  const unsigned = await daemon.send("/webhook/plain", { body: LARGE });
  expectProblem(unsigned, { name: "not signed", status: 413, code: "too_large" });
  deepEqual(await daemon.tasks(), []);
}, { fileOnly: NO_DATABASE });

programTest(
  "every refusal of a known trigger leaves a record with its reason",
  async (program) => {
    await using daemon = await startHost(program);
    await daemon.send("/webhook/plain", { headers: {}, body: BODY });
    await daemon.send("/webhook/dangling", withHeaders({}));
    await daemon.send("/webhook/crd", withHeaders({}));
    await daemon.send("/webhook/open", withHeaders({}));
    await daemon.send("/webhook/plain", signedBody("{"));
    equal(
      await daemon.sendRaw(
        "POST /webhook/plain HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n",
      ),
      413,
    );
    await daemon.send("/webhook/unknown", withHeaders({}));
    const records = await until("six records", async () => {
      const found = await daemon.json("get", "deliveries") as Record<string, unknown>[];
      return found.length >= 6 ? found : undefined;
    });
    deepEqual(
      records.map(({ trigger, outcome, status, task_id }) => [trigger, outcome, status, task_id])
        .sort((a, b) => `${a}` < `${b}` ? -1 : 1),
      [
        ["crd", "rejected", 401, null],
        ["dangling", "rejected", 401, null],
        ["open", "rejected", 401, null],
        ["plain", "rejected", 400, null],
        ["plain", "rejected", 401, null],
        ["plain", "rejected", 413, null],
      ],
    );
    const reasons = records.map(({ reason }) => String(reason));
    ok(reasons.every((reason) => reason.length > 5), reasons.join("; "));
    ok(reasons.some((reason) => reason.includes('"nowhere"')), reasons.join("; "));
  },
);

/** A daemon with a trigger for every way to be refused. */
async function startHost(program: Parameters<typeof startDaemon>[0]): Promise<TestDaemon> {
  const daemon = await startDaemon(program, { args: ["--max-body", String(MAX_BODY)] });
  const header = { signatureHeader: "X-Hub-Signature-256" };
  const secret = { fromRef: "github" };
  await daemon.apply(
    workflow("record", "true"),
    secretStore("github", { webhook_secret: SECRET }),
    secretStore("empty", {}),
    trigger("plain"),
    trigger("empty-store", { webhook: { ...header, secret: { fromRef: "empty" } } }),
    trigger("dangling", { webhook: { ...header, secret: { fromRef: "nowhere" } } }),
    trigger("open", { webhook: header }),
    trigger("bare", { webhook: {} }),
    trigger("crd", { webhook: { crdRef: "Nothing" } }),
    trigger("crd-too", { webhook: { ...header, secret, crdRef: "Nothing" } }),
  );
  return daemon;
}

/**
 * The whole body is known but for the id: nothing of the reason, the secret or the policy is in it.
 */
function expectProblem(
  answer: Answer,
  expected: { readonly name: string; readonly status: number; readonly code: string },
) {
  const { name, status, code } = expected;
  equal(answer.status, status, `${name}: ${answer.text}`);
  equal(answer.headers.get("content-type"), "application/problem+json", name);
  const { title, request_id, ...rest } = answer.json;
  deepEqual(rest, { type: "about:blank", status, code }, name);
  equal(title, TITLES[code], name);
  match(String(request_id), /^[0-9A-HJKMNP-TV-Z]{26}$/, name);
}

const TITLES: Readonly<Record<string, string>> = {
  unauthorized: "Not authenticated",
  not_found: "Not found",
  invalid: "Malformed request",
  method_not_allowed: "Method not allowed",
  too_large: "The body is too large",
  unsupported_type: "Unsupported content type or encoding",
};
