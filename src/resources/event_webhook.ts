/**
 * `spec.event.webhook` of a Trigger: the place of the signature in a request, and the secrets that
 * verify it. The verification itself is in `platforms/` and `signatures/`.
 *
 * @module
 */

import Type from "typebox";
import { isCidr } from "../base/cidr.ts";
import { signsInBody } from "../platforms/platform.ts";
import { platformOf } from "../platforms/platforms.ts";
import { SCHEME_NAMES } from "../platforms/schemes.ts";
import { checkExpression } from "./condition.ts";
import { FromSecret } from "./env.ts";
import type { EventDefinition } from "./event.ts";
import type { Reference } from "./kind.ts";
import { checkHmac, HeaderName, HmacSpec } from "./hmac_options.ts";
import { Name } from "./metadata.ts";
import { errorAt, type Finding, warningAt } from "./resource.ts";
import { checkSenderGuard, SenderGuard } from "./sender_guard.ts";

const RateLimit = Type.Object({
  perMinute: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
  reject: Type.Optional(Type.Boolean()),
}, { additionalProperties: false });

const Debounce = Type.Object({
  secs: Type.Integer({ minimum: 1, maximum: 86_400 }),
  key: Type.Optional(Type.String({ minLength: 1, title: "a CEL expression" })),
}, { additionalProperties: false });

const Slack = Type.Object({
  botToken: Type.Optional(FromSecret),
  notify: Type.Optional(Type.Array(Type.Enum(["started", "succeeded", "failed"]))),
}, { additionalProperties: false });

/** `spec.event.webhook.slack` as written by the user. */
export type SlackSpec = Type.Static<typeof Slack>;

const WebhookSpec = Type.Object({
  endpoint: Type.Optional(Name),
  connection: Type.Optional(Name),
  from: Type.Optional(SenderGuard),
  own: Type.Optional(Type.Enum(["pulls"])),
  secret: Type.Optional(Type.Object({ fromRef: Name }, { additionalProperties: false })),
  signatureHeader: Type.Optional(HeaderName),
  crdRef: Type.Optional(Type.String({ minLength: 1 })),
  scheme: Type.Optional(Type.Enum([...SCHEME_NAMES])),
  hmac: Type.Optional(HmacSpec),
  toleranceSecs: Type.Optional(Type.Integer({ minimum: 1, maximum: 86_400 })),
  allowUnsigned: Type.Optional(Type.Boolean()),
  body: Type.Optional(Type.Enum(["object", "any", "text"])),
  dedup: Type.Optional(Type.Enum(["id", "bytes"])),
  idempotencyKey: Type.Optional(Type.String({ minLength: 1, title: "a CEL expression" })),
  recordRejected: Type.Optional(Type.Boolean()),
  allowFrom: Type.Optional(Type.Array(Type.String(), { minItems: 1 })),
  rateLimit: Type.Optional(RateLimit),
  debounce: Type.Optional(Debounce),
  slack: Type.Optional(Slack),
  publicUrl: Type.Optional(Type.String({ pattern: "^https?://[^\\s/]+", title: "an http(s) URL" })),
}, { additionalProperties: false });

/** `spec.event.webhook` as written by the user. */
export type WebhookSpec = Type.Static<typeof WebhookSpec>;

const AT = ["spec", "event", "webhook"];

/** The manifest side of the source `webhook`. */
export const webhookEvent: EventDefinition = {
  source: "webhook",
  schema: WebhookSpec,
  check: (block) => checkWebhook((block ?? {}) as WebhookSpec),
  references: (block) => webhookReferences((block ?? {}) as WebhookSpec),
};

function checkWebhook(spec: WebhookSpec): Finding[] {
  return [
    ...checkSigned(spec),
    ...checkScheme(spec),
    ...checkDedup(spec),
    ...checkSenderGuard(spec, [...AT, "from"]),
    ...checkExpression(spec.idempotencyKey, [...AT, "idempotencyKey"]),
    ...checkSlack(spec),
    ...checkExpression(spec.debounce?.key, [...AT, "debounce", "key"]),
    ...(spec.allowFrom ?? []).flatMap((text, index) =>
      isCidr(text) ? [] : [errorAt(
        [...AT, "allowFrom", index],
        `"${text}" is not an address or CIDR range, such as 192.0.2.0/24 or 2001:db8::/32`,
      )]
    ),
  ];
}

function checkSlack({ slack, connection }: WebhookSpec): Finding[] {
  if (slack === undefined || (slack.notify ?? []).length === 0) return [];
  if (slack.botToken !== undefined || connection !== undefined) return [];
  const message =
    "svc cannot post without a bot token, name its secret under botToken, or a Connection to " +
    "Slack under event.webhook.connection";
  return [errorAt([...AT, "slack", "notify"], message)];
}

function checkDedup({ dedup, idempotencyKey }: WebhookSpec): Finding[] {
  if (dedup !== "bytes" || idempotencyKey === undefined) return [];
  const message = "dedup: bytes and idempotencyKey contradict each other, remove one of them";
  return [errorAt([...AT, "dedup"], message)];
}

function checkSigned(spec: WebhookSpec): Finding[] {
  const signed = spec.secret !== undefined || spec.crdRef !== undefined;
  if (spec.allowUnsigned === true && signed) {
    return [errorAt(
      [...AT, "allowUnsigned"],
      "allowUnsigned and a secret or crdRef contradict each other, remove one of them",
    )];
  }
  if (spec.allowUnsigned === true) {
    return [
      warningAt([...AT, "allowUnsigned"], "Anyone who can reach the port can fire this trigger"),
    ];
  }
  if (signed) return [];
  return [warningAt(
    AT,
    "No secret and no crdRef: every request is refused with 401. Name a SecretStore under secret.fromRef",
  )];
}

function checkScheme(spec: WebhookSpec): Finding[] {
  if (spec.scheme === "hmac" && spec.hmac === undefined) {
    return [errorAt([...AT, "scheme"], 'Scheme "hmac" needs the block "hmac" with its algorithm')];
  }
  if (spec.hmac !== undefined && spec.scheme !== "hmac") {
    return [errorAt([...AT, "hmac"], 'This block is for "scheme: hmac", write that too')];
  }
  const wrong = spec.hmac === undefined ? undefined : checkHmac(spec.hmac, [...AT, "hmac"]);
  if (wrong !== undefined) return [wrong];
  return (spec.scheme ?? "auto") === "auto"
    ? warnOfSha1(spec.signatureHeader)
    : warnOfIdleHeader(spec);
}

function warnOfIdleHeader({ scheme, signatureHeader }: WebhookSpec): Finding[] {
  const platform = platformOf(scheme, undefined);
  if (signatureHeader === undefined || platform === undefined || !signsInBody(platform)) return [];
  const message = `${platform.title} writes its signature into the body: leave signatureHeader out`;
  return [warningAt([...AT, "signatureHeader"], message)];
}

const HUB_SIGNATURE = "GitHub signs this header with SHA-1, which auto refuses: for GitHub use " +
  "X-Hub-Signature-256; for Bitbucket, Jira and others who sign it with SHA-256 write scheme: sha256";

/**
 * Warns about headers with SHA-1 signatures: these are verified only under a scheme by name, and
 * never under `auto`.
 */
function warnOfSha1(header: string | undefined): Finding[] {
  const path = [...AT, "signatureHeader"];
  if (header?.toLowerCase() === "x-hub-signature") return [warningAt(path, HUB_SIGNATURE)];
  const platform = platformOf(undefined, header);
  if (platform === undefined || platform.auto) return [];
  const message = `auto reads no signature of ${platform.title}: write scheme: ${platform.name}`;
  return [warningAt(path, message)];
}

function webhookReferences(spec: WebhookSpec): Reference[] {
  const consequence = "every request is refused with 401";
  return [
    ...(spec.secret === undefined ? [] : [{
      kind: "SecretStore",
      name: spec.secret.fromRef,
      path: [...AT, "secret", "fromRef"],
      consequence,
    }]),
    ...(spec.connection === undefined ? [] : [{
      kind: "Connection",
      name: spec.connection,
      path: [...AT, "connection"],
      consequence: "no task is answered",
    }]),
    ...(spec.crdRef === undefined ? [] : [{
      kind: "CustomResourceDefinition",
      name: spec.crdRef,
      path: [...AT, "crdRef"],
      consequence,
    }]),
    ...(spec.slack?.botToken === undefined ? [] : [{
      kind: "SecretStore",
      name: spec.slack.botToken.fromSecret.store,
      secretKey: spec.slack.botToken.fromSecret.key,
      path: [...AT, "slack", "botToken", "fromSecret", "store"],
      consequence: "svc cannot post to Slack",
    }]),
  ];
}
