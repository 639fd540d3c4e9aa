/**
 * The coverage that each scheme states, against its signature, over every real request: a covered
 * value cannot be changed, and a value that can be changed is not covered.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { autoScheme } from "../../src/platforms/auto.ts";
import {
  type Coverage,
  COVERS_NOTHING,
  coversPayload,
  isCovered,
  signedValues,
} from "../../src/signatures/coverage.ts";
import { coverageOf, coverageOfTemplate } from "../../src/signatures/signature_coverage.ts";
import type { HmacOptions } from "../../src/signatures/scheme.ts";
import {
  type Case,
  CASES,
  keysOf,
  lowerCase,
  optionsOf,
  requestOf,
  schemeNamed,
} from "../signatures/platform_cases.ts";

async function isAccepted(one: Case, changes: Partial<Case>): Promise<boolean> {
  const request = requestOf(one, changes);
  const verdict = await schemeNamed(one.scheme).verify(
    request,
    keysOf(one.secret),
    optionsOf(one),
  );
  return verdict.ok;
}

function coverageOfCase(one: Case): Coverage {
  const { header } = requestOf(one);
  return coverageOf(schemeNamed(one.scheme), optionsOf(one), { header });
}

/** Headers that carry the signature, or say how the body is written. */
const NOT_TRIED = /signature|authorization|token|content-type|hmac|hub-|hook|trello/;

for (const one of CASES) {
  Deno.test(`${one.scheme} covers what it says: ${one.name}`, async () => {
    const coverage = coverageOfCase(one);
    const headers = lowerCase(one.headers);
    for (const [name, value] of Object.entries(headers)) {
      const isCoveredHeader = coverage.headers !== "all" && coverage.headers.includes(name);
      if (!isCoveredHeader && NOT_TRIED.test(name)) continue;
      const changed = { ...headers, [name]: `${value}0` };
      equal(await isAccepted(one, { headers: changed }), !isCoveredHeader, name);
    }
    const more = { ...headers, "x-event-type": "other" };
    ok(await isAccepted(one, { headers: more }), "another header");
    const url = one.url.includes("?") ? one.url.replace("?", "?x=1&") : `${one.url}?x=1`;
    equal(await isAccepted(one, { url }), !coverage.query, "another query");
    if (coverage.payload === "all") {
      const body = new Uint8Array([...one.body, 0x20]);
      equal(await isAccepted(one, { body }), false, "another body");
    }
  });
}

Deno.test("SNS covers some fields of the payload, each of which it says", async () => {
  const [one] = CASES.filter(({ scheme, body }) =>
    scheme === "sns" && new TextDecoder().decode(body).includes('"Notification"')
  );
  ok(one !== undefined);
  const { payload } = coverageOfCase(one);
  ok(payload !== "all" && payload.length > 3);
  const fields: Record<string, string> = JSON.parse(new TextDecoder().decode(one.body));
  const with_ = (changes: Record<string, string>) =>
    new TextEncoder().encode(JSON.stringify({ ...fields, ...changes }));
  for (const name of payload) {
    if (fields[name] === undefined) continue;
    equal(await isAccepted(one, { body: with_({ [name]: `${fields[name]}.` }) }), false, name);
  }
  ok(await isAccepted(one, { body: with_({ UnsubscribeURL: "https://evil.example" }) }));
  const coverage = coverageOfCase(one);
  equal(isCovered(["payload", "Message"], coverage), true);
  equal(isCovered(["payload_Message"], coverage), true);
  equal(isCovered(["payload", "UnsubscribeURL"], coverage), false);
  equal(isCovered(["unsigned", "payload", "UnsubscribeURL"], coverage), false);
  const values = signedValues(coverage, { payload: fields, headers: {}, url: "", method: "POST" });
  deepEqual(
    Object.keys(values["payload"] as object).sort(),
    payload.filter((name) => fields[name] !== undefined).toSorted(),
  );
});

Deno.test("a token covers nothing, and a scheme that says nothing covers nothing", () => {
  const tokens = ["bearer", "basic", "okta", "cloudevents", "microsoft-graph", "monday", "mailgun"];
  for (const name of tokens) {
    const options = { signatureHeader: "authorization", toleranceSecs: 300 };
    const coverage = coverageOf(schemeNamed(name), options, { header: () => "Bearer x" });
    deepEqual(coverage, COVERS_NOTHING, name);
    equal(coversPayload(coverage), false);
    const request = {
      payload: { a: 1 },
      headers: { b: "2" },
      url: "http://x/?c=3",
      method: "POST",
    };
    deepEqual(signedValues(coverage, request), { headers: {} });
  }
});

Deno.test("GitLab covers with a signing token, and not with the plain one", () => {
  const gitlab = schemeNamed("gitlab");
  const options = { signatureHeader: "x-gitlab-token", toleranceSecs: 300 };
  const of = (headers: Record<string, string>) =>
    coverageOf(gitlab, options, { header: (name) => headers[name] });
  deepEqual(of({ "x-gitlab-token": "t" }), COVERS_NOTHING);
  const signed = of({ "x-gitlab-token": "t", "webhook-signature": "v1,AA==" });
  deepEqual(signed.headers, ["webhook-id", "webhook-timestamp"]);
  equal(signed.payload, "all");
  // Before any request, the keys say which it will be.
  deepEqual(coverageOf(gitlab, options, {}), COVERS_NOTHING);
  deepEqual(coverageOf(gitlab, options, { keys: keysOf("plain") }), COVERS_NOTHING);
  equal(coverageOf(gitlab, options, { keys: keysOf("plain", "whsec_AA==") }).payload, "all");
});

Deno.test("auto covers what the form of the value covers", () => {
  const auto = autoScheme("X-Slack-Signature");
  const options = { signatureHeader: "x-slack-signature", toleranceSecs: 300 };
  const of = (value: string) => coverageOf(auto, options, { header: () => value }).headers;
  deepEqual(of(`v0=${"a".repeat(64)}`), ["x-slack-request-timestamp"]);
  deepEqual(of(`sha256=${"a".repeat(64)}`), []);
});

Deno.test("a configured HMAC covers what its template names", () => {
  const of = (hmac: Partial<HmacOptions> & { template: string }) =>
    coverageOf(schemeNamed("hmac"), {
      signatureHeader: "x-s",
      toleranceSecs: 300,
      hmac: Object.assign({ algorithm: "sha256" as const }, hmac),
    }, {});
  deepEqual(of({ template: "{body}" }), {
    payload: "all",
    headers: [],
    query: false,
    method: false,
  });
  // As HubSpot signs.
  deepEqual(of({ template: "POST{url}{body}{timestamp}", timestampHeader: "X-Time" }), {
    payload: "all",
    headers: ["x-time"],
    query: true,
    method: true,
  });
  deepEqual(of({ template: "{header:X-Event}.{path}.{body}" }).headers, ["x-event"]);
  deepEqual(of({ template: "{timestamp}" }), COVERS_NOTHING); // not sound: refused on each request
  const form = { hash: "sha256", encoding: "hex", prefix: "" } as const;
  equal(coverageOfTemplate({ form, template: "{header:POST}{body}" }).method, false);
});
