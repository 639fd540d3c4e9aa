/**
 * Kind `SecretStore`: named secret values. They are plain text only in memory, encrypted at rest
 * (`secrets/`), and masked in output.
 *
 * @module
 */

import Type from "typebox";
import { type AnyKind, defineKind } from "./kind.ts";
import { MASK } from "./names.ts";
import { errorAt, type Finding, warningAt } from "./resource.ts";
import { isPlaceholder } from "./secrets_template.ts";

const SecretStoreSpec = Type.Object({
  data: Type.Record(
    Type.String(),
    Type.String({ title: 'text; quote it: "…"', writeOnly: true }),
    { title: "a mapping of key names to secret values", writeOnly: true },
  ),
}, { additionalProperties: false });

/** `spec` of a SecretStore. */
export type SecretStoreSpec = Type.Static<typeof SecretStoreSpec>;

/** The kind `SecretStore`, whose values are secret. */
export const secretStore: AnyKind = defineKind<SecretStoreSpec>("SecretStore", {
  summary:
    "Secret values by key. svc checks a signature against every value, which allows rotation.",
  spec: SecretStoreSpec,
  checks: [
    ({ data }) => Object.entries(data).flatMap(([key, value]) => checkValue(key, value)),
  ],
  mask: (spec) => ({
    data: Object.fromEntries(Object.keys(spec.data).map((key) => [key, MASK])),
  }),
  columns: [{ header: "KEYS", cell: ({ spec }) => String(Object.keys(spec.data).length) }],
});

/** Checks a value; messages contain the key and never the value. */
function checkValue(key: string, value: string): Finding[] {
  if (value === MASK) return []; // the apply keeps the stored value
  const fault = faultOfSecret(key, value);
  const at = ["spec", "data", key];
  if (fault !== undefined) return [errorAt(at, fault)];
  // A key in PEM has line breaks inside, and its last one belongs to it.
  if (value === value.trim() || value.trim().includes("\n")) return [];
  const message = `The value of "${key}" begins or ends with white space, which is part of the ` +
    "secret: signatures of a sender without it do not match";
  return [warningAt(at, message)];
}

/** Why `value` cannot be the secret of `key`; `undefined` when it can. */
export function faultOfSecret(key: string, value: string): string | undefined {
  if (key === "") return "A key needs a name";
  if (value.trim() === "") return `The value of "${key}" is empty, so anyone can sign with it`;
  if (value.trim() === MASK) {
    return `The value of "${key}" is ***, which svc shows in place of a secret: ` +
      "write the secret itself";
  }
  if (isPlaceholder(value)) {
    return `The value of "${key}" is a placeholder, replace it with the real secret`;
  }
  return undefined;
}
