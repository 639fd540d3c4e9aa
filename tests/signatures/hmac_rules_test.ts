/**
 * The rules of `sha256` and `hmac`: exact forms, exact bytes, and times.
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

// Python: hmac.new(b"secret", b"1700000000.{}", "sha256").hexdigest()
const OF_TIME = "b8569b78799ff9e3cbff0fc2d63a33a2b57f3282abd07c37ae5e8e7d79a5f163";
const OTHER = "0".repeat(64);

const LIST: Attempt = {
  ...HMAC,
  headers: { "X-Sig": `v1=${OTHER},v1=${OF_EMPTY_OBJECT}` },
  hmac: { algorithm: "sha256", prefix: "v1=", separator: "," },
};
const list = (value: string): Attempt => ({ ...LIST, headers: { "X-Sig": value } });

table("scheme hmac: several signatures in one header", [
  ["while a secret is changed", LIST, "ok"],
  ["one", list(`v1=${OF_EMPTY_OBJECT}`), "ok"],
  ["parts of another kind are passed over", list(`v0=x,v1=${OF_EMPTY_OBJECT},k=1`), "ok"],
  ["none that matches", list(`v1=${OTHER},v1=${OTHER}`), "no_key_matches"],
  ["none of the kind", list(`v0=${OF_EMPTY_OBJECT}`), "signature_malformed"],
  ["one that is cut short", list(`v1=${OF_EMPTY_OBJECT},v1=00`), "signature_malformed"],
  ["an empty part", list(`v1=${OF_EMPTY_OBJECT},`), "signature_malformed"],
  ["two header lines", list(`v1=${OF_EMPTY_OBJECT}, v1=${OTHER}`), "signature_malformed"],
  [
    "too many",
    list(`v1=${OF_EMPTY_OBJECT}${`,v1=${OTHER}`.repeat(32)}`),
    "signature_malformed",
  ],
  [
    "no prefix",
    { ...list(`${OTHER} ${OF_EMPTY_OBJECT}`), hmac: { algorithm: "sha256", separator: " " } },
    "ok",
  ],
  [
    "and without a separator a list is no signature",
    { ...LIST, hmac: { algorithm: "sha256", prefix: "v1=" } },
    "signature_malformed",
  ],
]);

const PARTS: Attempt = {
  ...HMAC,
  now: 1700000000,
  headers: { "X-Sig": `ts=1700000000;h1=${OTHER};h1=${OF_TIME}` },
  hmac: {
    algorithm: "sha256",
    prefix: "h1=",
    separator: ";",
    timestampPrefix: "ts=",
    template: "{timestamp}.{body}",
  },
};
const parts = (value: string): Attempt => ({ ...PARTS, headers: { "X-Sig": value } });

table("scheme hmac: the time beside the signature", [
  ["in any order", parts(`h1=${OF_TIME};ts=1700000000`), "ok"],
  ["several signatures", PARTS, "ok"],
  ["old", { ...PARTS, now: 1700000301 }, "timestamp_outside_window"],
  ["none", parts(`h1=${OF_TIME}`), "timestamp_missing"],
  ["empty", parts(`ts=;h1=${OF_TIME}`), "timestamp_missing"],
  ["not a time", parts(`ts=NaN;h1=${OF_TIME}`), "timestamp_malformed"],
  ["another", parts(`ts=1700000001;h1=${OF_TIME}`), "no_key_matches"],
  ["two", parts(`ts=1700000000;ts=1700000000;h1=${OF_TIME}`), "signature_malformed"],
  ["no signature", parts("ts=1700000000"), "signature_malformed"],
  [
    "is not signed",
    { ...PARTS, hmac: { algorithm: "sha256", separator: ";", timestampPrefix: "ts=" } },
    "options_unusable",
  ],
  [
    "nothing divides the two",
    {
      ...PARTS,
      hmac: { algorithm: "sha256", timestampPrefix: "ts=", template: "{timestamp}{body}" },
    },
    "options_unusable",
  ],
  [
    "is in two places",
    {
      ...PARTS,
      hmac: {
        algorithm: "sha256",
        separator: ";",
        timestampPrefix: "ts=",
        timestampHeader: "X-Time",
        template: "{timestamp}{body}",
      },
    },
    "options_unusable",
  ],
]);

const HEADER: Attempt = {
  ...HMAC,
  // Python: hmac.new(b"secret", b"m{body}1|{}", "sha256").hexdigest()
  headers: {
    "X-Sig": "d836c58f991f685187268081eeef75bd31d9c9533a2a4b0e6763ab18b1bc0913",
    "X-Id": "m{body}1",
  },
  hmac: { algorithm: "sha256", template: "{header:X-Id}|{body}" },
};

table("scheme hmac: a header and the path in the signed text", [
  ["the header is not filled again", HEADER, "ok"],
  [
    "another value",
    { ...HEADER, headers: { "X-Sig": HEADER.headers["X-Sig"] ?? "", "X-Id": "m2" } },
    "no_key_matches",
  ],
  [
    "no such header",
    { ...HEADER, headers: { "X-Sig": HEADER.headers["X-Sig"] ?? "" } },
    "signed_header_missing",
  ],
  [
    "an empty one",
    { ...HEADER, headers: { "X-Sig": HEADER.headers["X-Sig"] ?? "", "X-Id": "" } },
    "signed_header_missing",
  ],
  [
    "path and query",
    {
      ...HMAC,
      // Python: hmac.new(b"secret", b"POST\n/webhook/t?a=1\n{}", "sha256").hexdigest()
      headers: { "X-Sig": "7a0208d48fe7c45ef4b85091316a4ed0583c90d3951477036d18ff37cd1bc757" },
      hmac: { algorithm: "sha256", template: "POST\n{path}\n{body}" },
      url: "https://svc.example:8443/webhook/t?a=1#x",
    },
    "ok",
  ],
]);

const ENCODED: Attempt = {
  ...HMAC,
  // Python: hmac.new(bytes([255, 0, 1, 2]), b"{}", "sha256").hexdigest()
  headers: { "X-Sig": "5f5705130ed51be62247152740a251ccb3edecd3a1c03f382f3de400e5b42643" },
  secrets: ["/wABAg=="],
  hmac: { algorithm: "sha256", keyEncoding: "base64" },
};

table("scheme hmac: keys and digests in other spellings", [
  ["a key in base64", ENCODED, "ok"],
  ["in hexadecimal", {
    ...ENCODED,
    secrets: ["FF000102"],
    hmac: { algorithm: "sha256", keyEncoding: "hex" },
  }, "ok"],
  ["a key that is no base64", { ...ENCODED, secrets: ["/wABAg"] }, "no_usable_key"],
  ["the empty key", { ...ENCODED, secrets: ["===="] }, "no_usable_key"],
  ["its text", { ...ENCODED, hmac: { algorithm: "sha256" } }, "no_key_matches"],
  ...["dzJZAsrKgS3CWXM6rNBGtzgXNyx3e42VtAJkdHRRbhM", "dzJZAsrKgS3CWXM6rNBGtzgXNyx3e42VtAJkdHRRbhM="]
    .map((digest) =>
      [`the base64 of URLs, ${digest.length} characters`, {
        ...HMAC,
        headers: { "X-Sig": digest },
        hmac: { algorithm: "sha256", encoding: "base64url" },
      }, "ok"] as const
    ),
  ["of two padding characters", {
    ...HMAC,
    headers: { "X-Sig": "dzJZAsrKgS3CWXM6rNBGtzgXNyx3e42VtAJkdHRRbhM==" },
    hmac: { algorithm: "sha256", encoding: "base64url" },
  }, "signature_malformed"],
]);

table("scheme bearer takes the word Token for Bearer, as Mattermost's commands send it", [
  ...["Token abc", "token abc", "Bearer abc"].map((value) =>
    [value, {
      ...HMAC,
      scheme: "bearer",
      header: "Authorization",
      headers: { authorization: value },
      secrets: ["abc"],
    }, "ok"] as const
  ),
  ...["abc", "Tokenabc", "Token abc, Token abc", "Token ", "Basic abc"].map((value) =>
    [value, {
      ...HMAC,
      scheme: "bearer",
      header: "Authorization",
      headers: { authorization: value },
      secrets: ["abc"],
    }, "signature_malformed"] as const
  ),
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
