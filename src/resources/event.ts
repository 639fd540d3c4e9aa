/**
 * The manifest side of a trigger source: the schema of its own block of `spec.event`. What the
 * source does at run time is in `sources/`, under the same name.
 *
 * @module
 */

import type { TSchema } from "typebox";
import type { Reference } from "./kind.ts";
import type { Finding } from "./resource.ts";

/** The manifest side of one trigger source. */
export interface EventDefinition {
  /** Value of `spec.event.source`, and the name of its block. */
  readonly source: string;
  /** JSON Schema of the block. */
  readonly schema: TSchema;
  /** What the schema cannot say; `block` is `undefined` where the manifest leaves it out. */
  readonly check: (block: unknown) => Finding[];
  /** What the block refers to by name. */
  readonly references: (block: unknown) => Reference[];
}
