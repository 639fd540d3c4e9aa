/**
 * `spec.event.webhook.from` of a Trigger: the permission at the platform that the sender of an
 * event needs to start a task. svc asks the platform before the first step.
 *
 * @module
 */

import Type from "typebox";
import type { ForgeName } from "../base/forge_names.ts";
import { platformOf } from "../platforms/platforms.ts";
import { errorAt, type FieldPath, type Finding } from "./resource.ts";

/** Schema of the block. */
export const SenderGuard = Type.Object({
  permission: Type.Enum(["write"]),
  only: Type.Optional(Type.Enum(["agents"])),
}, { additionalProperties: false });

/** `from` as written by the user. */
export type SenderGuard = Type.Static<typeof SenderGuard>;

/** Beginning of the reason of a task that the guard kept from starting. */
const NOT_STARTED = "not started, as event.webhook.from";

/** The reason of a task whose sender may not start it, or could not be checked. */
export function guardReason(what: "says" | "could not be checked", why: string): string {
  return `${NOT_STARTED} ${what}: ${why}`;
}

/** Whether the guard kept a task from starting. Such a task is not answered either. */
export function wasKeptFromStarting({ reason }: { readonly reason: string }): boolean {
  return reason.startsWith(NOT_STARTED);
}

/** Platforms whose API says which permission a user has. */
const KNOWN: ReadonlySet<string | undefined> = new Set(["github", "gitea", "gitlab"]);

/** The forge whose events a webhook with these settings takes, by how they are verified. */
export function forgeOfSender(
  { scheme, signatureHeader }: Pick<GuardSettings, "scheme" | "signatureHeader">,
): ForgeName {
  return platformOf(scheme, signatureHeader)?.name === "gitlab" ? "gitlab" : "github";
}

/** The settings of a webhook that the guard depends on. */
interface GuardSettings {
  readonly from?: SenderGuard;
  readonly scheme?: string;
  readonly signatureHeader?: string;
  readonly secret?: unknown;
}

/**
 * Checks that the guard can ask: the platform has such an API, and a signature covers the name of
 * the sender. Without a signature a stranger could write any name.
 */
export function checkSenderGuard(
  { from, scheme, signatureHeader, secret }: GuardSettings,
  at: FieldPath,
): Finding[] {
  if (from === undefined) return [];
  if (!KNOWN.has(platformOf(scheme, signatureHeader)?.name)) {
    const message =
      "svc can ask only GitHub, GitLab, Gitea and Forgejo what a user may do: write " +
      "signatureHeader: X-Hub-Signature-256 or X-Gitlab-Token, or remove this";
    return [errorAt(at, message)];
  }
  if (secret !== undefined) return [];
  const message =
    "Only a signature tells whose event it is: name a SecretStore under secret.fromRef";
  return [errorAt(at, message)];
}
