/**
 * Replaces each text by which an input names a record with the whole id, before anything else reads
 * the input.
 *
 * @module
 */

import type { Operation } from "../../api/operation.ts";
import type { JsonObject } from "../../base/json.ts";
import type { RecordName } from "../../resources/record_names.ts";

/**
 * Returns the id of the record that a text names; throws `not_found`, or `usage` if several match.
 */
export type ResolveRecord = (record: RecordName, given: string) => Promise<string>;

/**
 * The input with the whole id of every record that it names; `input` has passed the schema.
 *
 * @throws {AppError} whatever {@linkcode ResolveRecord} throws.
 */
export async function resolveReferences(
  input: JsonObject,
  { input: { properties } }: Operation,
  resolve: ResolveRecord,
): Promise<JsonObject> {
  const whole = { ...input };
  for (const [field, schema] of Object.entries(properties)) {
    const record = recordOf(schema) ?? recordOf(Reflect.get(schema, "items"));
    const named = input[field];
    if (record === undefined || named === undefined) continue;
    whole[field] = Array.isArray(named)
      ? await Promise.all(named.map((one) => resolve(record, String(one))))
      : await resolve(record, String(named));
  }
  return whole;
}

function recordOf(schema: unknown): RecordName | undefined {
  return (schema as { readonly record?: RecordName } | undefined)?.record;
}
