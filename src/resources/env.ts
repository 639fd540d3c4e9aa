/**
 * `env` blocks: environment variables whose values are text templates or come from a
 * SecretStore. Shared by every kind that runs something.
 *
 * @module
 */

import Type from "typebox";
import { checkTemplate } from "./condition.ts";
import type { Reference } from "./kind.ts";
import { errorAt, type FieldPath, type Finding, Name } from "./resource.ts";

/** A value taken from a SecretStore when the step starts. */
export const FromSecret = Type.Object({
  fromSecret: Type.Object({
    store: Name,
    key: Type.String({ minLength: 1 }),
  }, { additionalProperties: false }),
}, { additionalProperties: false });

/** An `env` block. */
export const Env = Type.Record(
  Type.String(),
  Type.Union([Type.String(), FromSecret], {
    title: 'text (quote numbers: "8080"), or {fromSecret: {store: NAME, key: KEY}}',
  }),
);

/** An `env` block as written by the user. */
export type Env = Type.Static<typeof Env>;

const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** What the schema cannot say of an `env` block that stands at `at`. */
export function checkEnv(env: Env | undefined, at: FieldPath): Finding[] {
  const findings: Finding[] = [];
  for (const [name, value] of Object.entries(env ?? {})) {
    if (!VARIABLE_NAME.test(name)) {
      findings.push(errorAt([...at, name], `"${name}" is not a name of an environment variable`));
    } else if (name.startsWith("SVC_")) {
      findings.push(
        errorAt([...at, name], `Names that start with SVC_ are set by svc, rename "${name}"`),
      );
    }
    if (typeof value === "string") findings.push(...checkTemplate(value, [...at, name]));
  }
  return findings;
}

/** The SecretStores an `env` block that stands at `at` names. */
export function envReferences(env: Env | undefined, at: FieldPath): Reference[] {
  return Object.entries(env ?? {}).flatMap(([name, value]) =>
    typeof value === "string" ? [] : [{
      kind: "SecretStore",
      name: value.fromSecret.store,
      path: [...at, name, "fromSecret", "store"],
      consequence: "tasks that need it fail",
    }]
  );
}
