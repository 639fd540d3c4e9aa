/**
 * The special rules of platforms, each with the attack that it prevents.
 *
 * @module
 */

import { caseNamed } from "./platform_cases.ts";
import { type Attempt, fromCase, table } from "./verify_table.ts";

const STRIPE = fromCase("stripe-dotnet-sdk");
const V1 = "2220f87ef101a04665f11cdf770523143f875572008577fa0f20882ddb9cc3c7";
const WRONG = "0".repeat(64);
const stripe = (value: string): Attempt => ({
  ...STRIPE,
  scheme: "stripe",
  headers: { "Stripe-Signature": value },
});

table("scheme stripe", [
  ["the second v1", stripe(`t=1533204620,v1=${WRONG},v1=${V1}`), "ok"],
  ["elements that are not known", stripe(`v9=?,t=1533204620,v2=x,v1=${V1},x=`), "ok"],
  ["no v1", stripe(`t=1533204620,v0=${V1}`), "signature_malformed"],
  ["no time", stripe(`v1=${V1}`), "timestamp_missing"],
  ["two times", stripe(`t=1533204620,t=1533204620,v1=${V1}`), "signature_malformed"],
  ["a v1 that is no digest", stripe(`t=1533204620,v1=${V1},v1=xyz`), "signature_malformed"],
  ["a blank", stripe(`t=1533204620, v1=${V1}`), "signature_malformed"],
  ["a time with a sign", stripe(`t=+1533204620,v1=${V1}`), "timestamp_malformed"],
  ["13 digits", stripe(`t=1533204620000,v1=${V1}`), "timestamp_malformed"],
]);

const STANDARD = fromCase("standard-webhooks-v1");
const RIGHT = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
const OTHER = "v1,AAAA9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
const standard = (value: string, changes: Partial<Attempt> = {}): Attempt => ({
  ...STANDARD,
  scheme: "standard-webhooks",
  ...changes,
  headers: { ...STANDARD.headers, ...changes.headers, "webhook-signature": value },
});

table("scheme standard-webhooks", [
  ["the second of a list", standard(`${OTHER} ${RIGHT}`), "ok"],
  ["with a version that is not known", standard(`v2,AAAA ${RIGHT}`), "ok"],
  ["none that is known", standard("v2,AAAA"), "signature_malformed"],
  ["an empty element", standard(`${OTHER}  ${RIGHT}`), "signature_malformed"],
  ["too many", standard(`${`${OTHER} `.repeat(16)}${RIGHT}`), "signature_malformed"],
  ["a digest that is too short", standard("v1,AAAA"), "signature_malformed"],
  ["a v1a that is too short", standard(`${RIGHT} v1a,AAAA`), "signature_malformed"],
  [
    "a secret without whsec_",
    standard(RIGHT, { secrets: ["MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"] }),
    "ok",
  ],
  ["a secret that is no base64", standard(RIGHT, { secrets: ["whsec_!"] }), "no_usable_key"],
  [
    "a public key for v1",
    standard(RIGHT, { secrets: ["whpk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"] }),
    "no_usable_key",
  ],
  ["v1a is never checked with whsec_", {
    ...standard(fromCase("standard-webhooks-v1a-ed25519").headers["webhook-signature"] ?? ""),
  }, "no_usable_key"],
  ["no id", standard(RIGHT, { headers: { "webhook-id": "" } }), "message_id_missing"],
  ["two ids", standard(RIGHT, { headers: { "webhook-id": "a, a" } }), "signature_malformed"],
  ["another id", standard(RIGHT, { headers: { "webhook-id": "msg_2" } }), "no_key_matches"],
  ["svix names where the trigger says webhook-signature", {
    ...fromCase("svix names (headers of the Standard Webhooks vector)"),
    scheme: "standard-webhooks",
    header: "webhook-signature",
  }, "ok"],
  ["names of its own", {
    ...STANDARD,
    scheme: "standard-webhooks",
    header: "X-Acme-Signature",
    headers: {
      "X-Acme-Id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
      "X-Acme-Timestamp": "1614265330",
      "X-Acme-Signature": RIGHT,
    },
  }, "ok"],
]);

const GITLAB = fromCase("gitlab signing token");
table("scheme gitlab", [
  [
    "the token does not excuse a wrong signature",
    {
      ...GITLAB,
      headers: { ...GITLAB.headers, "webhook-signature": OTHER, "X-Gitlab-Token": "token" },
      secrets: ["token", ...GITLAB.secrets],
    },
    "no_key_matches",
  ],
  [
    "nor an empty one",
    {
      ...GITLAB,
      headers: { "webhook-signature": "", "X-Gitlab-Token": "token" },
      secrets: ["token"],
    },
    "signature_header_missing",
  ],
  ...["open sesame", "a, b", "Schlüssel"].map((token) =>
    [`a token such as "${token}"`, {
      ...GITLAB,
      // a header's bytes arrive as one character each
      headers: { "X-Gitlab-Token": unescape(encodeURIComponent(token)) },
      secrets: [token],
    }, "ok"] as const
  ),
]);

const TWILIO_FORM = "CallSid=CA1234567890ABCDE&Caller=%2B14158675309&Digits=1234&" +
  "From=%2B14158675309&To=%2B18005551212";
const twilio = (url: string, signature: string, changes: Partial<Attempt> = {}): Attempt => ({
  scheme: "twilio",
  header: "X-Twilio-Signature",
  secrets: ["12345"],
  body: TWILIO_FORM,
  url,
  ...changes,
  headers: {
    "Content-Type": "application/x-www-form-urlencoded",
    ...changes.headers,
    "X-Twilio-Signature": signature,
  },
});
const AT = "mycompany.com/myapp.php?foo=1&bar=2";
const OF_FORM = "RSOYDt4T1cUTdK1PDd93/VVr8B8=";
const OF_HASH_ONLY = "y77kIzt2vzLz71DgmJGsen2scGs=";
const HASH = "bodySHA256=0a1ff7634d9ab3b95db5c9a2dfe9416e41502b283a80c7cf19632632f96e6620";

// The signatures are those of the tests of twilio-python and twilio-csharp.
table("scheme twilio", [
  ["as it is", twilio(`https://${AT}`, OF_FORM), "ok"],
  [
    "signed with the usual port of https",
    twilio(`https://${AT}`, "kvajT1Ptam85bY51eRf/AJRuM3w="),
    "ok",
  ],
  [
    "signed with the usual port of http",
    twilio(`http://${AT}`, "0ZXoZLH/DfblKGATFgpif+LLRf4="),
    "ok",
  ],
  ["signed without the port", twilio(`https://${AT.replace("/", ":1234/")}`, OF_FORM), "ok"],
  [
    "signed with another port",
    twilio(`http://${AT.replace("/", ":81/")}`, "0ZXoZLH/DfblKGATFgpif+LLRf4="),
    "no_key_matches",
  ],
  [
    "only a hash in the query",
    twilio(`https://mycompany.com/myapp.php?${HASH}`, OF_HASH_ONLY, {
      body: '{"property": "value", "boolean": true}',
      headers: { "Content-Type": "application/json" },
    }),
    "ok",
  ],
  [
    "a body that is not the hash's",
    twilio(`https://mycompany.com/myapp.php?${HASH}`, OF_HASH_ONLY, {
      headers: { "Content-Type": "application/json" },
    }),
    "body_hash_differs",
  ],
  [
    "a form that is said to be JSON",
    twilio(`https://${AT}`, OF_FORM, {
      headers: { "Content-Type": "application/json" },
    }),
    "body_not_signed",
  ],
  [
    "a form of no type",
    twilio(`https://${AT}`, OF_FORM, { headers: { "Content-Type": "" } }),
    "body_not_signed",
  ],
  [
    "an escape that is no UTF-8",
    twilio(`https://${AT}`, OF_FORM, { body: "a=%ff" }),
    "no_key_matches",
  ],
  [
    "parameters in another order",
    twilio(`https://${AT}`, OF_FORM, {
      body: TWILIO_FORM.split("&").reverse().join("&"),
    }),
    "ok",
  ],
]);

const BEARER = fromCase("bearer (RFC 6750, section 2.1)");
const bearer = (value: string, header = "Authorization"): Attempt => ({
  ...BEARER,
  scheme: "bearer",
  header,
  headers: { [header]: value },
});

table("scheme bearer", [
  ["any case", bearer("bearer mF_9.B5f-4.1JqM"), "ok"],
  ["bare in Authorization", bearer("mF_9.B5f-4.1JqM"), "signature_malformed"],
  [
    "bare in a header of its own",
    bearer("mF_9.B5f-4.1JqM", "X-Telegram-Bot-Api-Secret-Token"),
    "ok",
  ],
  ["two blanks", bearer("Bearer  mF_9.B5f-4.1JqM"), "signature_malformed"],
  ["the beginning of the token", bearer("Bearer mF_9.B5f-4.1Jq"), "no_key_matches"],
  ["nothing", bearer("Bearer "), "signature_malformed"],
  ["another scheme", bearer("Basic mF_9.B5f-4.1JqM"), "signature_malformed"],
]);

const basic = (value: string, secret: string): Attempt => ({
  ...BEARER,
  scheme: "basic",
  headers: { Authorization: value },
  secrets: [secret],
});

table("scheme basic", [
  ["a colon in the password", basic("basic YTpiOmM=", "a:b:c"), "ok"],
  ["a value without a password", basic("Basic YTo=", "a:"), "no_usable_key"],
  ["a value without a colon", basic("Basic YQ==", "a"), "no_usable_key"],
  ["no base64", basic("Basic a:b", "a:b"), "signature_malformed"],
]);

table("public keys that are none are passed over", [
  ["no point of the curve", {
    ...fromCase("discord-ping (ref)"),
    secrets: ["f".repeat(64)],
  }, "no_key_matches"],
  ...["zz".repeat(32), "d75a", "0".repeat(64)].map((key) =>
    [key, { ...fromCase("discord-ping (ref)"), secrets: [key] }, "no_usable_key"] as const
  ),
  ...["whpk_", "whpk_AAAA", "whpk_!"].map((key) =>
    [
      key,
      { ...fromCase("standard-webhooks-v1a-ed25519"), secrets: [key] },
      "no_usable_key",
    ] as const
  ),
]);

const LINEAR: Attempt = {
  scheme: "linear",
  header: "Linear-Signature",
  // Python: hmac.new(b"linear secret", BODY, "sha256").hexdigest()
  headers: {
    "Linear-Signature": "d740aa9e88bad29a17f702268615757c86bbb4a59d8d10724cfa26b1527b7cec",
  },
  secrets: ["linear secret"],
  body: '{"action":"create"}',
  now: 1700000000,
};

table("scheme linear needs the time in the body", [
  ["none", LINEAR, "timestamp_missing"],
  [
    "a text",
    {
      ...LINEAR,
      headers: {
        "Linear-Signature": "e4ff335c03da20dc7b74635ee63f035999225b2e1626a5e5e55b52b537476789",
      },
      body: '{"webhookTimestamp":"1700000000000"}',
    },
    "timestamp_malformed",
  ],
  ["an old one, and another in the data", {
    ...LINEAR,
    headers: {
      "Linear-Signature": "dc7fb87d8d749cd4e88aaffd6f70139f6474904b91547b0a61433fd4acc8ffb0",
    },
    body: '{"webhookTimestamp":1600000000000,"data":{"webhookTimestamp":1700000000000}}',
  }, "timestamp_outside_window"],
  ["a text that looks like one", {
    ...LINEAR,
    headers: {
      "Linear-Signature": "fb60667abf7b10c56a1dbbec49c05b4bfc654dbd07bbaf532f218cec68ec8ca5",
    },
    body: String
      .raw`{"webhookTimestamp" : 1700000000000,"data":{"title":"\"webhookTimestamp\":1600000000000"}}`,
  }, "ok"],
]);

const CONTENTFUL = caseNamed("contentful entry");
const contentful = (changed: Readonly<Record<string, string>>): Attempt => ({
  scheme: "contentful",
  header: CONTENTFUL.header,
  headers: { ...CONTENTFUL.headers, ...changed },
  secrets: [CONTENTFUL.secret],
  body: CONTENTFUL.body,
  url: CONTENTFUL.url,
  now: CONTENTFUL.now,
});

table("scheme contentful covers the headers that are listed, the list and the time among them", [
  ["as it was sent", contentful({}), "ok"],
  ["behind another port", { ...contentful({}), url: "http://h:1/webhook/contentful" }, "ok"],
  ["another path", { ...contentful({}), url: "https://h/webhook/other" }, "no_key_matches"],
  ["another topic", contentful({ "X-Contentful-Topic": "x" }), "no_key_matches"],
  [
    "a listed header that is missing",
    contentful({ "X-Contentful-Topic": "" }),
    "signed_header_missing",
  ],
  ["no list", contentful({ "X-Contentful-Signed-Headers": "" }), "signed_headers_unknown"],
  [
    "a list in another order",
    contentful({
      "X-Contentful-Signed-Headers":
        "x-contentful-timestamp,x-contentful-signed-headers,x-contentful-topic",
    }),
    "no_key_matches",
  ],
  [
    "a list without the time, rightly signed", // Python: hmac.new(b"secret", TEXT, "sha256")
    {
      ...contentful({
        "X-Contentful-Signature":
          "59b961aef50a56646d5f7e8d5534c1ac51af57ac0e9eefe4c4377d8ddb97d636",
        "X-Contentful-Signed-Headers": "x-contentful-signed-headers,x-contentful-topic",
        "X-Contentful-Topic": "t",
      }),
      secrets: ["secret"],
      body: "{}",
      url: "https://h/webhook/t",
    },
    "signed_headers_unknown",
  ],
]);
