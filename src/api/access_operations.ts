/**
 * The operations on the tokens of the control plane and on the audit.
 *
 * @module
 */

import Type from "typebox";
import { type Role, ROLES } from "../base/roles.ts";
import { defineOperation, json, reference, SECS, TEXT } from "./operation.ts";
import { EVERY_RUN } from "./roles.ts";

/** A new token; its text is in no other answer. */
export interface CreatedToken {
  readonly token: string;
  /** Its identifier, from which the text cannot be derived. */
  readonly id: string;
  /** The role with which it acts now. */
  readonly role: Role;
  /** Name of the Person that it is for. */
  readonly person?: string;
  /** Whether it acts for the Person that each request names. */
  readonly gateway?: true;
  /** RFC 3339. */
  readonly expires_at: string;
}

/** The operations on tokens, logins and the audit, by name. */
export const ACCESS_OPERATIONS = {
  "token.create": defineOperation({
    summary: "Creates a token",
    input: {
      role: Type.Optional(Type.Enum([...ROLES])),
      person: Type.Optional(TEXT),
      gateway: Type.Optional(Type.Boolean()),
      ttl_secs: SECS,
      name: TEXT,
    },
    output: json<CreatedToken>(),
    role: "admin",
  }),
  "token.revoke": defineOperation({
    summary: "Revokes a token",
    input: { id: reference("token") },
    output: json<{ readonly id: string }>(),
    role: "admin",
  }),
  "person.login": defineOperation({
    summary: "Says whom a gateway logs in, and records the login",
    input: {},
    output: json<{ readonly person: string }>(),
    role: "read_only",
  }),
  "audit.verify": defineOperation({
    summary: "Reports whether audit rows were changed or removed",
    input: {},
    output: json<{ readonly rows: number; readonly faults: readonly string[] }>(),
    role: "read_only",
    console: true,
    grants: EVERY_RUN,
  }),
};
