/**
 * What is particular to `sha256` and `hmac`: exact forms, exact bytes, and the times they can
 * carry.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { findSeconds, findTime } from "../../src/signatures/timestamp.ts";
import { type Attempt, outcome, table } from "./verify_table.ts";

// HMACs of `{}` and of other texts below: openssl dgst -sha256 -hmac SECRET
const OF_EMPTY_OBJECT = "77325902caca812dc259733aacd046b73817372c777b8d95b402647474516e13";
const SPEC_FORM = `sha256=${OF_EMPTY_OBJECT}`;
const BYTES = new Uint8Array([0xff, 0xfe, 0x00, 0x7b, 0x7d]);

const SPEC: Attempt = {
  scheme: "auto",
  header: "X-Webhook-Signature",
  headers: { "X-Webhook-Signature": SPEC_FORM },
  secrets: ["secret"],
};
const BAD_SHA256 = ["", "sha256=", OF_EMPTY_OBJECT, `SHA256=${OF_EMPTY_OBJECT}`, `${SPEC_FORM}0`];

Deno.test("scheme sha256 refuses every other form", async () => {
  for (const value of [...BAD_SHA256, SPEC_FORM.slice(0, -1), SPEC_FORM.replace(/.$/, "g")]) {
    const reason = await outcome({ ...SPEC, headers: { "X-Webhook-Signature": value } });
    equal(/^signature_(malformed|header_missing)$/.test(reason), true, value);
  }
});

const HMAC: Attempt = {
  scheme: "hmac",
  header: "X-Sig",
  headers: { "X-Sig": OF_EMPTY_OBJECT },
  secrets: ["secret"],
  hmac: { algorithm: "sha256" },
};
const FILLED: Attempt = {
  ...HMAC,
  headers: {
    "X-Sig": "HMAC 504b2a05cf2efa3cbf6b7c28621467ca9e970fc0df842c2cdbb459ecbe57348b",
    "X-Time": "1700000000",
  },
  hmac: {
    algorithm: "sha256",
    prefix: "HMAC ",
    template: "{url}|{timestamp}|{body}",
    timestampHeader: "X-Time",
  },
  url: "https://h/{body}",
  body: '{"a":"{timestamp}{url}"}',
  now: 1700000000,
};

table("scheme hmac", [
  ["hex", HMAC, "ok"],
  [
    "base64",
    {
      ...HMAC,
      headers: { "X-Sig": "dzJZAsrKgS3CWXM6rNBGtzgXNyx3e42VtAJkdHRRbhM=" },
      hmac: { algorithm: "sha256", encoding: "base64" },
    },
    "ok",
  ],
  [
    "base64 with one character too many",
    {
      ...HMAC,
      headers: { "X-Sig": "dzJZAsrKgS3CWXM6rNBGtzgXNyx3e42VtAJkdHRRbhMA" },
      hmac: { algorithm: "sha256", encoding: "base64" },
    },
    "signature_malformed",
  ],
  ["a digest of another length", { ...HMAC, hmac: { algorithm: "sha1" } }, "signature_malformed"],
  ["a placeholder inside body or URL is not filled", FILLED, "ok"],
  [
    "no header of the time",
    { ...FILLED, headers: { "X-Sig": FILLED.headers["X-Sig"] ?? "" } },
    "timestamp_missing",
  ],
  ["no options", (({ hmac: _, ...rest }) => rest)(HMAC), "options_unusable"],
  [
    "a template without the body",
    { ...HMAC, hmac: { algorithm: "sha256", template: "{url}" } },
    "options_unusable",
  ],
  [
    "a time that is not signed",
    { ...HMAC, hmac: { algorithm: "sha256", timestampHeader: "X-Time" } },
    "options_unusable",
  ],
  [
    "a time without its header",
    { ...HMAC, hmac: { algorithm: "sha256", template: "{timestamp}{body}" } },
    "options_unusable",
  ],
]);

table("signed bytes are never written anew", [
  [
    "sha256 over what is not UTF-8",
    {
      ...SPEC,
      headers: {
        "X-Webhook-Signature":
          "sha256=bbf50928afd09c6bb0ebd6e393578a38c7365757bc5cccffa02e05f5cd2ffc49",
      },
      body: BYTES,
    },
    "ok",
  ],
  [
    "slack over what is not UTF-8",
    {
      scheme: "slack",
      header: "X-Slack-Signature",
      headers: {
        "X-Slack-Request-Timestamp": "1531420618",
        "X-Slack-Signature": "v0=04ebc145c5e611f035b195b6f7a5e3c89274e3c51a7b10b328134a13d99d2b7d",
      },
      secrets: ["secret"],
      body: BYTES,
    },
    "ok",
  ],
  [
    "a byte order mark",
    {
      ...SPEC,
      headers: {
        "X-Webhook-Signature":
          "sha256=7472b188e1770945f569d82d3b754387b4f4febaa60a245e56ee998af617694e",
      },
      body: new Uint8Array([0xef, 0xbb, 0xbf, 0x7b, 0x7d]),
    },
    "ok",
  ],
]);

Deno.test("findTime reads the forms that are meant and nothing else", () => {
  const times: Readonly<Record<string, number>> = {
    "0": 0,
    "1504765804": 1504765804000,
    "999999999999": 999999999999000,
    "1504765804123": 1504765804123,
    "2017-09-07T06:30:04Z": 1504765804000,
    "2017-09-07T06:30:04.5Z": 1504765804500,
    "2017-09-07T08:30:04.123456789+02:00": 1504765804123,
    "2017-09-07T01:00:04-05:30": 1504765804000,
    "Thu 07 Sep 2017 06:30:04 UTC": 1504765804000,
    "Thu, 07 Sep 2017 06:30:04 GMT": 1504765804000,
  };
  deepEqual(Object.fromEntries(Object.keys(times).map((text) => [text, findTime(text)])), times);
  const others = [
    "",
    " ",
    "-1",
    "+1",
    "1.5",
    "1e9",
    "0x10",
    "NaN",
    "Infinity",
    "12345678901234",
    " 1504765804",
    "1504765804 ",
    "1504765804\n",
    "１５０４７６５８０４",
    "2017-09-07",
    "2017-02-30T00:00:00Z",
    "2017-09-07T24:00:00Z",
    "2017-09-07T06:60:00Z",
    "2017-09-07T06:30:04",
    "2017-09-07 06:30:04Z",
    "2017-09-07T06:30:04+24:00",
    "2017-09-07T06:30:04Z, 2017-09-07T06:30:04Z",
    "0099-01-01T00:00:00Z",
    "Fri 07 Sep 2017 06:30:04 UTC",
    "Thu 7 Sep 2017 06:30:04 UTC",
    "Thu 07 Sep 2017 06:30:04 CET",
    "Thu 31 Feb 2017 06:30:04 UTC",
    "Thu 07 sep 2017 06:30:04 UTC",
    "yesterday",
  ];
  deepEqual(others.filter((text) => findTime(text) !== undefined), []);
  equal(findSeconds("1504765804123"), undefined);
});
