/**
 * `spec.event.webhook.from` of a Trigger: what somebody has to be allowed at the platform so that his
 * event may start a task. The platform is asked before the first step.
 *
 * @module
 */

import Type from "typebox";
import { platformOf } from "../platforms/platforms.ts";
import { errorAt, type FieldPath, type Finding } from "./resource.ts";

/** Schema of the block. */
export const SenderGuard = Type.Object({
  permission: Type.Enum(["write"]),
  only: Type.Optional(Type.Enum(["agents"])),
}, { additionalProperties: false });

/** `from` as written by the user. */
export type SenderGuard = Type.Static<typeof SenderGuard>;

/** How the reason of a task begins that the guard kept from starting. */
const NOT_STARTED = "not started, as event.webhook.from";

/** The reason of a task that may not start, or of which that could not be found out. */
export function guardReason(what: "says" | "could not be checked", why: string): string {
  return `${NOT_STARTED} ${what}: ${why}`;
}

/** Whether a task was kept from starting: a stranger's, which is not answered either. */
export function wasKeptFromStarting({ reason }: { readonly reason: string }): boolean {
  return reason.startsWith(NOT_STARTED);
}

/** Platforms whose API answers the question. */
const KNOWN: ReadonlySet<string | undefined> = new Set(["github", "gitea"]);

/** What of a webhook's settings the guard needs. */
interface Guarded {
  readonly from?: SenderGuard;
  readonly scheme?: string;
  readonly signatureHeader?: string;
  readonly secret?: unknown;
}

/** The guard asks about whom a signed payload names: without a signature anybody could name anyone. */
export function checkSenderGuard(
  { from, scheme, signatureHeader, secret }: Guarded,
  at: FieldPath,
): Finding[] {
  if (from === undefined) return [];
  if (!KNOWN.has(platformOf(scheme, signatureHeader)?.name)) {
    const message = "svc can ask only GitHub, Gitea and Forgejo what a user may do: write " +
      "signatureHeader: X-Hub-Signature-256, or remove this";
    return [errorAt(at, message)];
  }
  if (secret !== undefined) return [];
  const message =
    "Only a signature tells whose event it is: name a SecretStore under secret.fromRef";
  return [errorAt(at, message)];
}
