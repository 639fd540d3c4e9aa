/**
 * The schemas of names and of `metadata`.
 *
 * @module
 */

import Type from "typebox";
import { NAME_PATTERN } from "./names.ts";

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
