/**
 * Names, and the schema of `metadata`.
 *
 * @module
 */

import Type from "typebox";

/** Names of resources and projects. */
export const NAME_PATTERN = "^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$";

/** A name, in a schema. */
export const Name = Type.String({
  pattern: NAME_PATTERN,
  title: "a name (letters, digits, and . _ - inside; at most 253 characters)",
});

/** Free text by key: labels and annotations. */
const StringMap = Type.Record(Type.String(), Type.String());

/** `metadata` of every resource. */
export const MetadataSchema = Type.Object({
  name: Name,
  project: Type.Optional(Name),
  description: Type.Optional(Type.String()),
  labels: Type.Optional(StringMap),
  annotations: Type.Optional(StringMap),
}, { additionalProperties: false });

/** `metadata` as written by the user. */
export type Metadata = Type.Static<typeof MetadataSchema>;
