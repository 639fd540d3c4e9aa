/**
 * `auto` and `platformOf`: the scheme that a header name selects, and attacks that `sha256=<hex>`
 * must not allow.
 *
 * @module
 */

import { strictEqual as equal } from "node:assert/strict";
import { platformOf } from "../../src/platforms/platforms.ts";
import { findScheme } from "../../src/platforms/schemes.ts";
import { type Attempt, fromCase, table } from "./verify_table.ts";

// HMACs of `{}` and of other texts below: openssl dgst -sha256 -hmac SECRET
const OF_EMPTY_OBJECT = "77325902caca812dc259733aacd046b73817372c777b8d95b402647474516e13";
const SPEC_FORM = `sha256=${OF_EMPTY_OBJECT}`;

const SPEC: Attempt = {
  scheme: "auto",
  header: "X-Webhook-Signature",
  headers: { "X-Webhook-Signature": SPEC_FORM },
  secrets: ["secret"],
};

table("findScheme auto takes the spec's form under any header", [
  ["the default", SPEC, "ok"],
  ...[
    "X-Anything",
    "X-Slack-Signature",
    "x-line-signature",
    "X-HUB-SIGNATURE-256",
    "X-Hub-Signature",
    "X-Gitlab-Token",
    "Stripe-Signature",
    "X-Shopify-Hmac-SHA256",
    "webhook-signature",
    "svix-signature",
    "X-Signature-Ed25519",
    "Authorization",
    "X-Twilio-Signature",
    "__proto__",
  ].map((header) => [header, { ...SPEC, header, headers: { [header]: SPEC_FORM } }, "ok"] as const),
  [
    "in upper case, too",
    { ...SPEC, headers: { "X-Webhook-Signature": `sha256=${OF_EMPTY_OBJECT.toUpperCase()}` } },
    "ok",
  ],
  [
    "and no bare base64 where the header is no platform's",
    { ...SPEC, headers: { "X-Webhook-Signature": "dzJZAsrKgS3CWXM6rNBGtzgXNyx3e42VtAJkdHRRbhM=" } },
    "signature_malformed",
  ],
]);

table("findScheme auto takes a platform's form under its header, and nothing made with SHA-1", [
  ["github", fromCase("github-docs"), "ok"],
  ["slack", fromCase("slack-docs-slash-command"), "ok"],
  ["line", fromCase("line-docs-verify-empty-events"), "ok"],
  ["gitlab", fromCase("gitlab-token"), "ok"],
  ["gitlab signing token", fromCase("gitlab signing token"), "ok"],
  ["stripe", fromCase("stripe-dotnet-sdk"), "ok"],
  ["shopify", fromCase("convoy-shopify"), "ok"],
  ["standard webhooks", fromCase("standard-webhooks-v1"), "ok"],
  ["standard webhooks, asymmetric", fromCase("standard-webhooks-v1a-ed25519"), "ok"],
  [
    "svix",
    fromCase("svix names (headers of the Standard Webhooks vector)"),
    "ok",
  ],
  ["discord", fromCase("discord-ping (ref)"), "ok"],
  ["bearer", fromCase("bearer (RFC 6750, section 2.1)"), "ok"],
  ["no basic", fromCase("basic (RFC 7617, section 2)"), "signature_malformed"],
  ["no twilio", fromCase("twilio-docs"), "signature_malformed"],
  ["no X-Hub-Signature", fromCase("github-sha1-legacy"), "signature_malformed"],
  [
    "an old Slack request",
    { ...fromCase("slack-docs-slash-command"), now: 1531420919 },
    "timestamp_outside_window",
  ],
]);

const SLACK_SECRET = "8f742231b10e8888abcd99yyyzzz85a5";
const SLACK_DIGEST = "8fa0e009d1ac24fd3df1706b46c6d972abd5f70b762137c3bb5b4208c84c9607";

table("findScheme auto: the spec's form does not undo what a platform's form protects", [
  [
    "the signed text of Slack sent as a body, years later",
    {
      ...SPEC,
      header: "X-Slack-Signature",
      headers: { "X-Slack-Signature": `sha256=${SLACK_DIGEST}` },
      secrets: [SLACK_SECRET],
      body: "v0:1531420618:{}",
      now: 1900000000,
    },
    "body_not_an_object",
  ],
  [
    "which a trigger without a platform's header has to take: it is what was signed",
    {
      ...SPEC,
      headers: { "X-Webhook-Signature": `sha256=${SLACK_DIGEST}` },
      secrets: [SLACK_SECRET],
      body: "v0:1531420618:{}",
    },
    "ok",
  ],
  [
    "an HMAC under Discord's public key",
    {
      ...SPEC,
      header: "X-Signature-Ed25519",
      headers: {
        "X-Signature-Ed25519":
          "sha256=880c15fc5dbf68a8e89395132e752dddcfde0f5c0931717bbfab1ca3db239d95",
      },
      secrets: ["d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"],
      body: '{"type":1}',
    },
    "no_usable_key",
  ],
  [
    "an HMAC under a public key of Standard Webhooks",
    {
      ...SPEC,
      header: "webhook-signature",
      headers: {
        "webhook-signature":
          "sha256=994b42ccabad02bb3e857be8a375b8c14a3cbea2ec2edffdfd63ab1e50e42863",
      },
      secrets: ["whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="],
      body: '{"test": 2432232314}',
    },
    "no_usable_key",
  ],
  [
    "a body that begins with white space is still an object",
    {
      ...SPEC,
      header: "X-Slack-Signature",
      headers: { "X-Slack-Signature": SPEC_FORM },
      body: " {}",
    },
    "no_key_matches",
  ],
]);

Deno.test("platformOf goes by the scheme, then by the header", () => {
  const rows: readonly (readonly [string | undefined, string | undefined, string | undefined])[] = [
    ["auto", "X-Slack-Signature", "slack"],
    ["auto", "x-line-signature", "line"],
    ["auto", "X-HUB-SIGNATURE-256", "github"],
    ["sha256", "X-Hub-Signature-256", "github"],
    ["auto", "X-Hub-Signature", undefined],
    ["auto", "X-Gitlab-Token", "gitlab"],
    ["auto", "Stripe-Signature", "stripe"],
    ["auto", "X-Shopify-Hmac-Sha256", "shopify"],
    ["auto", "webhook-signature", "standard-webhooks"],
    ["auto", "svix-signature", "standard-webhooks"],
    ["auto", "X-Twilio-Signature", "twilio"],
    ["auto", "X-Signature-Ed25519", "discord"],
    ["auto", "Authorization", undefined],
    ["auto", undefined, undefined],
    ["auto", "__proto__", undefined],
    ["slack", undefined, "slack"],
    ["slack", "X-Hub-Signature-256", "slack"],
    ["hmac", "X-Line-Signature", "line"],
    ["bearer", undefined, undefined],
    [undefined, "X-Hub-Signature-256", "github"], // an interceptor authenticates
    [undefined, undefined, undefined],
  ];
  for (const [scheme, header, platform] of rows) {
    equal(platformOf(scheme, header)?.name, platform, `${scheme} ${header}`);
  }
});

Deno.test("findScheme knows no other name", () => {
  for (const name of ["", "none", "Slack", "__proto__", "toString"]) {
    equal(findScheme(name, "X-Slack-Signature"), undefined);
  }
});
