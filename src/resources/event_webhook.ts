/**
 * `spec.event.webhook` of a Trigger (spec 2.2, contract 2): where the signature stands and what it
 * is checked against. Says nothing about how; that is `signatures/`.
 *
 * @module
 */

import Type from "typebox";
import type { EventDefinition } from "./events.ts";
import type { Reference } from "./kind.ts";
import { errorAt, type Finding, Name, warningAt } from "./resource.ts";

/** Signature schemes a manifest can name; `signatures/schemes.ts` has one entry for each but `auto`. */
export const SCHEME_NAMES = ["auto", "sha256"] as const;

/** HTTP header names (RFC 9110, token). */
const HeaderName = Type.String({
  pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}$",
  title: "the name of an HTTP header",
});

/** Schema of the block. */
const WebhookSpec = Type.Object({
  secret: Type.Optional(Type.Object({ fromRef: Name }, { additionalProperties: false })),
  signatureHeader: Type.Optional(HeaderName),
  crdRef: Type.Optional(Type.String({ minLength: 1 })),
  scheme: Type.Optional(Type.Enum([...SCHEME_NAMES])),
  allowUnsigned: Type.Optional(Type.Boolean()),
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
  if (!signed) {
    return [warningAt(
      AT,
      "No secret and no crdRef: every request is refused with 401. Name a SecretStore under secret.fromRef",
    )];
  }
  return [];
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
    ...(spec.crdRef === undefined ? [] : [{
      kind: "CustomResourceDefinition",
      name: spec.crdRef,
      path: [...AT, "crdRef"],
      consequence,
    }]),
  ];
}
