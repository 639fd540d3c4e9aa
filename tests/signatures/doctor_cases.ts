/**
 * One real mistake or more for every cause the signature doctor knows. What the senders sign is
 * made by Node's own HMAC, not by the code under test.
 *
 * @module
 */

import { createHmac } from "node:crypto";
import type { Cause } from "../../src/signatures/doctor.ts";
import type { HmacOptions } from "../../src/signatures/scheme.ts";

/** A refused request, what its trigger asks for, and what it is refused for. */
export interface Mistake {
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly url?: string;
  /** URL that arrived, where `publicUrl` has replaced it. */
  readonly arrivedUrl?: string;
  /** Seconds. */
  readonly now?: number;
  readonly scheme?: string;
  readonly signatureHeader?: string;
  readonly hmac?: HmacOptions;
  /** Values of the trigger's store. */
  readonly secrets?: readonly string[];
  /** Values of another store of the project. */
  readonly others?: readonly string[];
  /** What the operator reads. */
  readonly says: RegExp;
}

export const NOW = 1_700_000_000;
export const SECRET = "It's a Secret to Everybody";
export const BODY = '{"action":"opened","title":"grüße","url":"https://a/b","n":9007199254740993}';

type Bytes = string | Uint8Array;
export const mac = (algorithm: string, secret: Bytes, data: Bytes, encoding: "hex" | "base64") =>
  createHmac(algorithm, secret).update(data).digest(encoding);
export const hex = (data: Bytes, secret: Bytes = SECRET) => mac("sha256", secret, data, "hex");
const base64 = (data: Bytes, secret: Bytes = SECRET) => mac("sha256", secret, data, "base64");
const base64Url = (data: Bytes) =>
  base64(data).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
export const sha256 = (data: Bytes, secret: Bytes = SECRET) => ({
  "X-Webhook-Signature": `sha256=${hex(data, secret)}`,
});
const slack = (secret: string, time = NOW, body = BODY) => ({
  "X-Slack-Request-Timestamp": String(time),
  "X-Slack-Signature": `v0=${hex(`v0:${time}:${body}`, secret)}`,
});
const WHSEC_BYTES = new TextEncoder().encode("twenty-four random bytes");
const WHSEC = `whsec_${btoa("twenty-four random bytes")}`;
const standard = (secret: Bytes) => ({
  "webhook-id": "msg_1",
  "webhook-timestamp": String(NOW),
  "webhook-signature": `v1,${base64(`msg_1.${NOW}.${BODY}`, secret)}`,
});

/** At least one for every cause: a cause without one does not compile. */
export const MISTAKES: Readonly<Record<Cause, readonly Mistake[]>> = {
  passes_now: [{ headers: sha256(BODY), says: /"key1"\): send it again/ }],
  header_quoted: [
    { headers: { "X-Webhook-Signature": `"sha256=${hex(BODY)}"` }, says: /leave out the quotes/ },
    { headers: { "X-Webhook-Signature": `'sha256=${hex(BODY)}'` }, says: /quotes/ },
  ],
  header_sent_twice: [
    {
      headers: { "X-Webhook-Signature": `sha256=${hex("{}")}, sha256=${hex(BODY)}` },
      says: /more than once/,
    },
    {
      headers: {
        "Stripe-Signature": [1, 2].map(() => `t=${NOW},v1=${hex(`${NOW}.${BODY}`)}`).join(", "),
      },
      scheme: "stripe",
      says: /more than once/,
    },
  ],
  header_has_blanks: [
    { headers: { "X-Webhook-Signature": `sha256= ${hex(BODY)}` }, says: /blanks/ },
  ],
  prefix_in_upper_case: [
    {
      headers: { "X-Webhook-Signature": `SHA256=${hex(BODY).toUpperCase()}` },
      says: /lower case/,
    },
  ],
  prefix_missing: [
    {
      headers: { "X-Webhook-Signature": hex(BODY) },
      says: /scheme: hmac with hmac: \{algorithm: sha256, encoding: hex\}$/,
    },
    {
      headers: { ...slack(SECRET), "X-Slack-Signature": hex(`v0:${NOW}:${BODY}`) },
      scheme: "slack",
      says: /timestampHeader: x-slack-request-timestamp, template: "v0:\{timestamp\}:\{body\}"\}$/,
    },
  ],
  prefix_unexpected: [
    {
      headers: { "X-Sig": `sha256=${hex(BODY)}` },
      scheme: "hmac",
      signatureHeader: "X-Sig",
      hmac: { algorithm: "sha256" },
      says: /prefix: "sha256="\}$/,
    },
    {
      headers: { "X-Line-Signature": `sha256=${base64(BODY)}` },
      scheme: "line",
      says: /encoding: base64, prefix: "sha256="\}$/,
    },
  ],
  other_encoding: [
    {
      headers: { "X-Webhook-Signature": `sha256=${base64(BODY)}` },
      says: /encoding: base64, prefix: "sha256="\}$/,
    },
    { headers: { "X-Line-Signature": hex(BODY) }, scheme: "line", says: /encoding: hex\}$/ },
    {
      headers: {
        "X-Line-Signature": base64(`${BODY}${" ".repeat(3)}`).replaceAll("+", "-")
          .replaceAll("/", "_").replace("=", ""),
      },
      body: `${BODY}${" ".repeat(3)}`,
      scheme: "line",
      says: /encoding: base64url\}$/,
    },
    {
      headers: { "X-Line-Signature": base64("{}").replace("=", "") },
      body: "{}",
      scheme: "line",
      says: /lacks the padding of base64/,
    },
  ],
  other_algorithm: [
    {
      headers: { "X-Hub-Signature": `sha1=${mac("sha1", SECRET, BODY, "hex")}` },
      signatureHeader: "X-Hub-Signature",
      says: /algorithm: sha1, encoding: hex, prefix: "sha1="\}$/,
    },
    {
      headers: { "X-Webhook-Signature": mac("sha512", SECRET, BODY, "base64") },
      says: /algorithm: sha512, encoding: base64\}$/,
    },
  ],
  signature_in_another_header: [
    {
      headers: { "X-Hub-Signature-256": `sha256=${hex(BODY)}`, "User-Agent": "GitHub-Hookshot" },
      says: /set signatureHeader: x-hub-signature-256$/,
    },
    {
      headers: { "X-Webhook-Signature": "none", "X-Signature": `sha256=${hex(BODY)}` },
      says: /set signatureHeader: x-signature$/,
    },
  ],
  other_scheme: [
    {
      headers: slack(SECRET),
      signatureHeader: "X-Hub-Signature-256",
      says: /set scheme: slack and leave signatureHeader out or set it to X-Slack-Signature$/,
    },
    { headers: standard(WHSEC_BYTES), secrets: [WHSEC], says: /scheme: standard-webhooks/ },
    {
      headers: { "X-Gitlab-Token": SECRET, "X-Gitlab-Event": "Push Hook" },
      says: /scheme: gitlab/,
    },
    {
      headers: { "Stripe-Signature": `t=${NOW},v1=${hex(`${NOW}.${BODY}`)}` },
      scheme: "slack",
      says: /scheme: stripe/,
    },
    {
      headers: {
        "X-Acme": `v0=${hex(`v0:${NOW}:${BODY}`)}`,
        "X-Slack-Request-Timestamp": `${NOW}`,
      },
      signatureHeader: "X-Acme",
      says: /scheme: slack and keep signatureHeader: x-acme$/,
    },
    {
      headers: {
        "Content-Type": "application/x-www-form-urlencoded",
        "X-Twilio-Signature": mac("sha1", SECRET, "https://h/t" + "a1b2", "base64"),
      },
      signatureHeader: "X-Twilio-Signature",
      body: "b=2&a=1",
      url: "https://h/t",
      says: /scheme: twilio/,
    },
  ],
  other_store_key: [
    {
      headers: sha256(BODY, "the secret of staging"),
      others: ["one that nobody uses", "the secret of staging"],
      says: /^Key "key2" of SecretStore "theirs" made .* secret.fromRef: theirs, or put .* "own"$/,
    },
  ],
  secret_has_white_space: [
    { headers: sha256(BODY), secrets: ["old", `${SECRET}\n`], says: /key "key2" begins or ends/ },
    { headers: sha256(BODY), secrets: [`  ${SECRET}`], says: /whitespace/ },
  ],
  sender_secret_has_line_break: [
    { headers: sha256(BODY, `${SECRET}\n`), says: /printf, not echo/ },
    { headers: sha256(BODY, `${SECRET}\r\n`), says: /whitespace after/ },
  ],
  secret_quoted: [
    { headers: sha256(BODY), secrets: [`"${SECRET}"`], says: /with quotes around it/ },
  ],
  secret_is_base64: [
    { headers: sha256(BODY), secrets: [btoa(SECRET)], says: /store the decoded text$/ },
    {
      headers: sha256(BODY, new Uint8Array([255, 0, 1, 2])),
      secrets: ["/wABAg=="],
      says: /set keyEncoding: base64 under hmac, with scheme: hmac$/,
    },
    {
      headers: {
        "Content-Type": "application/x-www-form-urlencoded",
        "X-Twilio-Signature": mac("sha1", new Uint8Array([255, 0]), "https://h/ta1", "base64"),
      },
      scheme: "twilio",
      body: "a=1",
      url: "https://h/t",
      secrets: ["/wA="],
      says: /sign with the text as it is$/,
    },
  ],
  secret_is_hex: [
    {
      headers: { "X-Line-Signature": base64(BODY, new Uint8Array([255, 0, 1, 2])) },
      scheme: "line",
      secrets: ["ff000102"],
      says: /decodes the value of key "key1" from hexadecimal/,
    },
  ],
  secret_prefix_decoded: [
    { headers: sha256(BODY, WHSEC_BYTES), secrets: [WHSEC], says: /scheme: standard-webhooks if/ },
  ],
  secret_prefix_not_decoded: [
    {
      headers: standard(WHSEC),
      scheme: "standard-webhooks",
      secrets: [WHSEC],
      says: /have it decode what follows whsec_/,
    },
    { headers: standard(WHSEC.slice(6)), scheme: "standard-webhooks", secrets: [WHSEC], says: /./ },
  ],
  secret_prefix_missing: [
    {
      headers: { "Stripe-Signature": `t=${NOW},v1=${hex(`${NOW}.${BODY}`, WHSEC)}` },
      scheme: "stripe",
      secrets: [WHSEC.slice(6)],
      says: /lacks its whsec_/,
    },
  ],
  secret_prefix_added: [
    { headers: sha256(BODY, "abc"), secrets: ["whsec_abc"], says: /store it without/ },
  ],
  clock_skew: [
    {
      headers: slack(SECRET, NOW - 720),
      scheme: "slack",
      says: /is 12m behind the daemon's clock/,
    },
    { headers: slack(SECRET, NOW + 3700), scheme: "slack", says: /is 1h1m ahead of/ },
    {
      headers: { "Stripe-Signature": `t=${NOW - 9e5},v1=${hex(`${NOW - 9e5}.${BODY}`)}` },
      signatureHeader: "Stripe-Signature",
      says: /10d10h behind/,
    },
  ],
  url_differs: [
    {
      headers: {
        Host: "10.0.0.7:19090",
        "X-Forwarded-Host": "hooks.example.com",
        "Content-Type": "application/x-www-form-urlencoded",
        "X-Twilio-Signature": mac(
          "sha1",
          SECRET,
          "https://hooks.example.com/webhook/t?a=1b2",
          "base64",
        ),
      },
      scheme: "twilio",
      body: "b=2",
      url: "http://10.0.0.7:19090/webhook/t?a=1",
      says: /set publicUrl: https:\/\/hooks.example.com\/webhook\/t$/,
    },
    { // publicUrl has a query of its own, which replaces the one that arrives
      headers: {
        "X-Twilio-Signature": mac("sha1", SECRET, "https://hooks.example.com/t?real=1", "base64"),
      },
      scheme: "twilio",
      body: "",
      url: "https://hooks.example.com/t?old=1",
      arrivedUrl: "http://10.0.0.7:19090/webhook/t?real=1",
      says: /set publicUrl: https:\/\/hooks.example.com\/t$/,
    },
    { // and here it is the right one
      headers: {
        "X-Twilio-Signature": mac("sha1", SECRET, "http://hooks.example.com/t?own=1", "base64"),
      },
      scheme: "twilio",
      body: "",
      url: "https://hooks.example.com/t?own=1",
      arrivedUrl: "http://10.0.0.7:19090/webhook/t?real=1",
      says: /set publicUrl: http:\/\/hooks.example.com\/t\?own=1$/,
    },
    {
      headers: { "X-Twilio-Signature": mac("sha1", SECRET, "https://svc.example/t", "base64") },
      scheme: "twilio",
      body: "",
      url: "https://svc.example/t?token=1",
      says: /signs https:\/\/svc.example\/t without the query that arrives/,
    },
  ],
  body_json_layout: [
    {
      headers: sha256(BODY),
      body: BODY.replace(",", ", "),
      says: /signature covers the JSON compact/,
    },
    {
      headers: sha256('{\n  "a": [\n    1,\n    2\n  ]\n}'),
      body: '{"a":[1,2]}',
      says: /indented by 2/,
    },
    { headers: sha256('{"a": [1, {"b": 2}]}'), body: '{"a":[1,{"b":2}]}', says: /with spaces/ },
  ],
  body_json_escapes: [
    {
      headers: sha256('{"t": "gr\\u00fc\\u00dfe"}'),
      body: '{"t":"grüße"}',
      says: /with different escapes/,
    },
    { headers: sha256('{"u":"https:\\/\\/a"}'), body: '{"u":"https://a"}', says: /escapes/ },
  ],
  body_json_key_order: [
    {
      headers: sha256('{"a":{"c":1,"d":2},"b":3}'),
      body: '{"b":3,"a":{"d":2,"c":1}}',
      says: /sorted/,
    },
  ],
  body_line_breaks: [
    { headers: sha256("{\n}"), body: "{\r\n}", says: /between CR LF and LF/ },
    { headers: sha256('{"a":\r\n1 }'), body: '{"a":\n1 }', says: /between CR LF and LF/ },
  ],
  body_final_line_break: [
    { headers: sha256('{"a":  1}'), body: '{"a":  1}\n', says: /arrives with a line break/ },
    { headers: sha256('{"a":  1}\n'), body: '{"a":  1}', says: /that does not arrive/ },
  ],
  body_byte_order_mark: [
    { headers: sha256(BODY), body: `\ufeff${BODY}`, says: /that is not signed/ },
    { headers: sha256(`\ufeff${BODY}`), says: /that does not arrive/ },
  ],
  body_form_decoded: [
    {
      headers: sha256(BODY),
      body: `payload=${encodeURIComponent(BODY)}`,
      says: /not the form that arrives/,
    },
  ],
  body_form_encoded: [
    { headers: sha256(`payload=${encodeURIComponent(BODY)}`), says: /as a form/ },
  ],
  body_charset: [
    {
      headers: sha256(Uint8Array.from(BODY, (letter) => letter.charCodeAt(0))),
      says: /Latin-1/,
    },
  ],
  signed_text_differs: [
    {
      headers: {
        "X-Webhook-Signature": `sha256=${hex(`${NOW}.${BODY}`)}`,
        "X-Request-Timestamp": String(NOW),
      },
      says: /timestampHeader: x-request-timestamp, template: "\{timestamp\}\.\{body\}"\}$/,
    },
    {
      headers: {
        "X-Webhook-Signature": base64(`2023-11-14T22:13:20Z${BODY}`),
        "X-Date": "2023-11-14T22:13:20Z",
      },
      says: /encoding: base64, timestampHeader: x-date, template: "\{timestamp\}\{body\}"\}$/,
    },
    {
      headers: { "X-Webhook-Signature": base64(`https://svc.example/webhook/t${BODY}`) },
      says: /encoding: base64, template: "\{url\}\{body\}"\}$/,
    },
    {
      headers: { "X-Webhook-Signature": `v1=${hex("{}")},v1=${hex(BODY)}` },
      says: /prefix: "v1=", separator: ","\}$/,
    },
    {
      headers: { "X-Webhook-Signature": `ts=${NOW};h1=${hex(`${NOW}:${BODY}`)}` },
      says:
        /prefix: "h1=", separator: ";", timestampPrefix: "ts=", template: "\{timestamp\}:\{body\}"\}$/,
    },
    {
      headers: { "X-Webhook-Signature": `t=${NOW}000, v1=${base64Url(`${NOW}000.${BODY}`)}` },
      says: /encoding: base64url, prefix: "v1=", separator: ", ", timestampPrefix: "t="/,
    },
  ],
};
