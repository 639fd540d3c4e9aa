/**
 * Kind `SecretStore`: named secret values. They are plain text only in memory, encrypted at rest
 * (`secrets/`), and masked in output.
 *
 * @module
 */

import Type from "typebox";
import { type AnyKind, defineKind } from "./kind.ts";
import { errorAt, type Finding } from "./resource.ts";

/** Schema of `spec`. */
const SecretStoreSpec = Type.Object({
  data: Type.Record(
    Type.String(),
    Type.String({ title: 'text; quote it: "…"', writeOnly: true }),
    { title: "a mapping of key names to secret values", writeOnly: true },
  ),
}, { additionalProperties: false });

/** `spec` of a SecretStore. */
export type SecretStoreSpec = Type.Static<typeof SecretStoreSpec>;

/** Shown in place of every secret value. */
export const MASK = "***";

/** Placeholders of templates: publicly known, so never a secret. */
const PLACEHOLDER =
  /^\s*(<[^>]*>|\{\{.*\}\}|\$\{[^}]*\}|change-?me|replace[-_]?me|your[-_ ].*[-_ ]here)\s*$/i;

/** Whether `value` is a placeholder of a template rather than a secret. */
export function isPlaceholder(value: string): boolean {
  return PLACEHOLDER.test(value);
}

/** The kind `SecretStore`. */
export const secretStore: AnyKind = defineKind<SecretStoreSpec>({
  kind: "SecretStore",
  plural: "secretstores",
  shortNames: ["secret", "secrets", "ss"],
  global: false,
  summary: "Secret values by key; for signatures every value is tried, which allows rotation.",
  spec: SecretStoreSpec,
  check: (spec) => Object.entries(spec.data).flatMap(([key, value]) => checkValue(key, value)),
  mask: (spec) => ({
    data: Object.fromEntries(Object.keys(spec.data).map((key) => [key, MASK])),
  }),
  columns: [{ header: "KEYS", cell: ({ spec }) => String(Object.keys(spec.data).length) }],
});

/** Checks a value; messages contain the key and never the value. */
function checkValue(key: string, value: string): Finding[] {
  const refuse = (why: string) => [errorAt(["spec", "data", key], why)];
  if (key === "") return refuse("A key needs a name");
  if (value.trim() === "") {
    return refuse(`The value of "${key}" is empty, which anyone can sign with`);
  }
  if (value.trim() === MASK) {
    return refuse(`The value of "${key}" is the mask ***, give the real value`);
  }
  if (isPlaceholder(value)) {
    return refuse(`The value of "${key}" is a placeholder, replace it with the real secret`);
  }
  return [];
}
