/**
 * Secrets outside of a header: in the body of Microsoft Graph, in the query of Azure Event Grid, in
 * the token of monday.com, each with the attacks that its rules prevent.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import type { SignedRequest, Verdict } from "../../src/signatures/scheme.ts";
import { keysOf, schemeNamed } from "./platform_cases.ts";

const SECRET = "secretClientValue";

async function verify(
  scheme: string,
  request: Partial<SignedRequest>,
  ...secrets: string[]
): Promise<string> {
  const none = { body: new Uint8Array(), header: () => undefined, now: 0, url: "", arrivedUrl: "" };
  const options = { signatureHeader: "authorization", toleranceSecs: 300 };
  const verdict: Verdict = await schemeNamed(scheme)
    .verify({ ...none, ...request }, keysOf(...secrets), options);
  return verdict.ok ? verdict.keyName : verdict.reason;
}

const bytes = (text: string) => new TextEncoder().encode(text);
const graph = (text: string, ...secrets: string[]) =>
  verify("microsoft-graph", { body: bytes(text) }, ...secrets);

const BODIES: readonly [what: string, body: string, verdict: string][] = [
  ["every notification", '{"value":[{"clientState":"S"},{"clientState" : "S"}]}', "key2"],
  ["two secrets", '{"value":[{"clientState":"S"},{"clientState":"older"}]}', "key2"],
  ["written with escapes", '{"value":[{"clientState":"\\u0053"}]}', "key2"],
  ["one without", '{"value":[{"clientState":"S"},{"id":"1"}]}', "secret_missing"],
  ["one with another", '{"value":[{"clientState":"S"},{"clientState":"x"}]}', "no_key_matches"],
  [
    "one with another, its key in escapes",
    '{"value":[{"clientState":"S"},{"client\\u0053tate":"x"}]}',
    "no_key_matches",
  ],
  [
    "one where the last of two keys counts",
    '{"value":[{"clientState":"S","client\\u0053tate":"x"}]}',
    "no_key_matches",
  ],
  [
    "a list that a second one replaces",
    '{"value":[{"clientState":"S"}],"value":[{"id":"1"}]}',
    "secret_missing",
  ],
  ["elsewhere", '{"clientState":"S","value":[{"id":"1"}]}', "secret_missing"],
  ["elsewhere and nothing else", '{"clientState":"S"}', "signature_malformed"],
  ["in a text", '{"value":[{"id":"\\"clientState\\":\\"S\\""}]}', "secret_missing"],
  ["no list", '{"value":{"clientState":"S"}}', "signature_malformed"],
  ["an empty list", '{"clientState":"S","value":[]}', "signature_malformed"],
  ["a number", '{"value":[{"clientState":1}]}', "secret_missing"],
  ["an empty one", '{"value":[{"clientState":""}]}', "no_key_matches"],
  ["no JSON", '"clientState":"S"', "signature_malformed"],
  ["nothing", "", "secret_missing"],
];

for (const [what, body, verdict] of BODIES) {
  Deno.test(`Microsoft Graph, clientState in ${what}: ${verdict}`, async () => {
    equal(await graph(body, "older", "S"), verdict);
  });
}

Deno.test("Microsoft Graph: a large body without a secret costs no more than its length", async () => {
  const many = (piece: string) => `{"value":[${piece.repeat(Math.floor(2 ** 20 / piece.length))}]}`;
  for (const piece of ['"clientState"', '"clientState":"', '"clientState":"\\"', '{"a":"\\\\"}']) {
    ok(/secret_missing|no_key_matches|malformed/.test(await graph(many(piece), SECRET)), piece);
  }
});

Deno.test("Microsoft Graph: signs nothing, but says what a body lacks", async () => {
  const { sign } = schemeNamed("microsoft-graph");
  const [key = { name: "", value: "" }] = keysOf(SECRET);
  const input = { now: 0, url: "", id: "1" };
  const options = { signatureHeader: "authorization", toleranceSecs: 300 };
  const body = bytes(`{"value":[{"clientState":"${SECRET}"}]}`);
  deepEqual(await sign?.({ ...input, body }, key, options), {});
  await rejects(async () => await sign?.({ ...input, body: bytes("{}") }, key, options), {
    code: "invalid",
    message: /write the value of the key "key1" into the body, as clientState/,
  });
});

const ARRIVED: readonly [url: string, verdict: string][] = [
  ["https://h/webhook/t?token=S", "key1"],
  ["https://h/webhook/t?a=1&token=%53", "key1"],
  ["https://h/webhook/t?token=x", "no_key_matches"],
  ["https://h/webhook/t?token=", "secret_missing"],
  ["https://h/webhook/t?token=S&token=S", "secret_missing"],
  ["https://h/webhook/t?Token=S", "secret_missing"],
  ["https://h/webhook/t#?token=S", "secret_missing"],
  ["https://h/webhook/t", "secret_missing"],
];

for (const [arrivedUrl, verdict] of ARRIVED) {
  Deno.test(`Azure Event Grid, ${arrivedUrl}: ${verdict}`, async () => {
    equal(await verify("azure-event-grid", { arrivedUrl }, "S"), verdict);
    ok(await verify("azure-event-grid", { arrivedUrl }, "") !== "key1");
  });
}

Deno.test("Azure Event Grid: a token in the configured URL lets no request in", async () => {
  equal(await verify("azure-event-grid", { url: "https://h/?token=S" }, "S"), "secret_missing");
});

Deno.test("Azure Event Grid: a wrong header is refused, whatever the query says", async () => {
  const arrivedUrl = "https://h/webhook/t?token=S";
  const header = () => "Bearer x";
  equal(await verify("azure-event-grid", { arrivedUrl, header }, "S"), "no_key_matches");
});

/** Signed with "monday signing secret", by Python. */
const TOKENS: readonly [what: string, token: string, verdict: string][] = [
  [
    "no algorithm",
    "eyJhbGciOiJub25lIn0.eyJhY2NvdW50SWQiOjE4MjU1MjksInVzZXJJZCI6NDAxMjY4OSwiYXVkIjoiaHR0cHM6Ly9zdmMuZXhhbXBsZS93ZWJob29rL3QiLCJleHAiOjE3MDAwMDAzMDAsImlhdCI6MTcwMDAwMDAwMH0.C6Ak5J4_qY4irMbjHTwTHBMj-UFQI4fxiXtyh3ZAG1o",
    "signature_malformed",
  ],
  [
    "another algorithm",
    "eyJhbGciOiJIUzUxMiJ9.eyJhY2NvdW50SWQiOjE4MjU1MjksInVzZXJJZCI6NDAxMjY4OSwiYXVkIjoiaHR0cHM6Ly9zdmMuZXhhbXBsZS93ZWJob29rL3QiLCJleHAiOjE3MDAwMDAzMDAsImlhdCI6MTcwMDAwMDAwMH0.cG3YRXFVqXgq_jOKuyvJRQDmLWH5LyS4R4bB1I0d3zM",
    "signature_malformed",
  ],
  [
    "no signature",
    "eyJhbGciOiJub25lIn0.eyJpYXQiOjE3MDAwMDAwMDAsImV4cCI6MTcwMDAwMDMwMH0.",
    "signature_malformed",
  ],
  [
    "no time",
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJleHAiOjE3MDAwMDAzMDB9.Ko9pfOsejVf_wk2ITWgaxUL0442qFJ05_60YzFExtcA",
    "timestamp_missing",
  ],
  [
    "no end",
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpYXQiOjE3MDAwMDAwMDB9.94tyOmrbDDPqCYRJGbiR6qMz53FtjxyKv5gIKTQ7dBw",
    "timestamp_malformed",
  ],
  [
    "an end that is over",
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpYXQiOjE3MDAwMDAwMDAsImV4cCI6MTY5OTk5OTAwMH0.9yUUkC6M8PWiGfkp398vnPbKqExRqH3DzaIFHosICAo",
    "token_expired",
  ],
  ["no JSON", "bm8.bm8.sXKb_t8ykmS9vH0JpIMfRoCt7-5xvCt4cewKI76Xqvc", "signature_malformed"],
];

for (const [what, token, verdict] of TOKENS) {
  Deno.test(`monday.com, a token with ${what}: ${verdict}`, async () => {
    const request = { header: () => token, now: 1_700_000_000_000 };
    equal(await verify("monday", request, "monday signing secret"), verdict);
  });
}
