/**
 * Which headers of a stored request are shown: nothing with which somebody could send in its name.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { maskHeaders, maskQuery } from "../../src/control/records/masked_headers.ts";
import { SCHEMES } from "../../src/platforms/schemes.ts";

const maskOne = (name: string, value = "x") => maskHeaders({ [name]: value }, [])[name];

Deno.test("maskHeaders masks the header of every scheme, also where no trigger says so", () => {
  for (const { name, defaultHeader } of SCHEMES) {
    equal(maskOne(defaultHeader.toLowerCase()), "***", name);
  }
});

Deno.test("maskHeaders masks headers that sign or name the sender, on any platform", () => {
  const names = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "x-gitlab-token",
    "svix-signature",
    "x-hub-signature",
    "x-slack-signature",
    "x-api-key",
    "api-key",
    "x-auth-key",
    "apikey",
    "x-shopify-hmac-sha256",
    "paypal-transmission-sig",
    "x-amz-security-token",
    "x-jwt",
    "x-webhook-secret",
    "x-forwarded-client-cert",
    "ce-signature",
    "x-password",
    "x-otp",
  ];
  for (const name of names) equal(maskOne(name), "***", name);
  equal(maskHeaders({ "x-acme": "short" }, ["x-acme"])["x-acme"], "***");
});

Deno.test("maskHeaders masks a value that looks like a digest or a token, under any name", () => {
  const digest = "5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd";
  const values = [digest, `sha256=${digest}`, `t=1,v1=${digest}`, digest.slice(0, 32)];
  const base64 = btoa(digest).slice(0, 44);
  for (const value of [...values, base64, "aGVsbG8gd29ybGQgaGVsbG8gd29ybGQgMTIzNDU2Nzg="]) {
    equal(maskOne("x-acme", value), "***", value);
  }
});

Deno.test("maskHeaders shows everything else", () => {
  const shown = {
    "content-type": "application/json; charset=utf-8",
    "user-agent": "GitHub-Hookshot/044aadd",
    "x-github-event": "push",
    "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
    "x-slack-request-timestamp": "1531420618",
    "x-forwarded-for": "192.0.2.7, 10.0.0.1",
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "idempotency-key": "k1",
    "accept": "*/*",
    "x-request-id": "b0c1e7a2-9c5a-4b1e-8a83-0d5b6a0a3f10",
    "host": "hooks.example.com",
  };
  deepEqual(maskHeaders(shown, []), shown);
});

Deno.test("maskQuery masks values as maskHeaders does, and leaves the rest as it was sent", () => {
  const cases = {
    "": "",
    "n=1&ref=refs%2Fheads%2Fmain&flag": "n=1&ref=refs%2Fheads%2Fmain&flag",
    "token=t1&a=b": "token=***&a=b",
    "API_Key=short": "API_Key=***",
    "%74oken=t1": "%74oken=***",
    "x=0123456789abcdef0123456789abcdef": "x=***",
    "0123456789abcdef0123456789abcdef": "***",
    "secret=a=b": "secret=***",
    "a=%zz": "a=%zz",
  };
  for (const [query, shown] of Object.entries(cases)) equal(maskQuery(query), shown, query);
});

Deno.test("maskHeaders shows the time of signing, which is no secret", () => {
  const digest = "5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd";
  const cases: readonly [name: string, value: string, shown: string][] = [
    ["stripe-signature", `t=1700000000,v1=${digest},v0=${digest}`, "t=1700000000,***,***"],
    ["paddle-signature", `ts=1700000000;h1=${digest}`, "ts=1700000000;***"],
    ["sanity-webhook-signature", `t=1700000000000, v1=${digest}`, "t=1700000000000, ***"],
    ["x-signature-timestamp", "1700000000", "1700000000"],
    ["x-zendesk-webhook-signature-timestamp", "2026-01-31T08:00:00Z", "2026-01-31T08:00:00Z"],
    ["x-signature-timestamp", "no time at all", "***"],
    ["x-signature", "1700000000", "***"],
    ["x-token", `t=secret,v1=${digest}`, "***"],
  ];
  for (const [name, value, shown] of cases) equal(maskOne(name, value), shown, `${name}: ${value}`);
  const own = { "x-acme": `t=1700000000,v1=${digest}` };
  equal(maskHeaders(own, ["x-acme"])["x-acme"], "t=1700000000,***");
});
