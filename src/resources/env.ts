/**
 * `env` blocks: environment variables whose values are text templates or come from a SecretStore.
 * Shared by all kinds that run commands.
 *
 * @module
 */

import Type from "typebox";
import { checkTemplate } from "./condition.ts";
import { type FieldExpression, templateExpressions } from "./expressions.ts";
import type { Reference } from "./kind.ts";
import { Name } from "./metadata.ts";
import { errorAt, type FieldPath, type Finding } from "./resource.ts";

/** A value taken from a SecretStore when the step starts. */
export const FromSecret = Type.Object({
  fromSecret: Type.Object({
    store: Name,
    key: Type.String({ minLength: 1 }),
  }, { additionalProperties: false }),
}, { additionalProperties: false });

/** Schema of an `env` block: each value is a text, or is taken from a SecretStore. */
export const Env = Type.Record(
  Type.String(),
  Type.Union([Type.String(), FromSecret], {
    title: 'text (quote numbers: "8080"), or {fromSecret: {store: NAME, key: KEY}}',
  }),
);

/** An `env` block as written by the user. */
export type Env = Type.Static<typeof Env>;

/** Names of environment variables. */
export const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** The checks of an `env` block at path `at` that a schema cannot express. */
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

/** The SecretStores that an `env` block at path `at` refers to. */
export function envReferences(env: Env | undefined, at: FieldPath): Reference[] {
  return Object.entries(env ?? {}).flatMap(([name, value]) =>
    typeof value === "string" ? [] : [{
      kind: "SecretStore",
      name: value.fromSecret.store,
      secretKey: value.fromSecret.key,
      path: [...at, name, "fromSecret", "store"],
      consequence: "tasks that need it fail",
    }]
  );
}

/** The templates of an `env` block. */
export function envExpressions(env: Env | undefined, at: FieldPath): FieldExpression[] {
  return Object.entries(env ?? {}).flatMap(([name, value]) =>
    typeof value === "string" ? templateExpressions(value, [...at, name]) : []
  );
}
