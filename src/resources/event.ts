/**
 * The manifest side of a trigger source: the schema of its block of `spec.event`. Its behaviour at
 * run time is in `src/intake/`.
 *
 * @module
 */

import type { TSchema } from "typebox";
import type { Reference } from "./kind.ts";
import type { FieldPath, Finding } from "./resource.ts";

/** A directory whose files are watched, and the field that names it. */
export interface WatchedDirectory {
  readonly path: string;
  readonly at: FieldPath;
}

/** The manifest side of one trigger source. */
export interface EventDefinition {
  /** Value of `spec.event.source`, and the name of its block. */
  readonly source: string;
  /** JSON Schema of the block. */
  readonly schema: TSchema;
  /**
   * The checks that a schema cannot express; `block` is `undefined` where the manifest leaves it
   * out.
   */
  readonly check: (block: unknown) => Finding[];
  /** Directories of the workspace that its events come from; the workspace itself is empty. */
  readonly watched?: (block: unknown) => WatchedDirectory[];
  /** References of the block to other resources. */
  readonly references: (block: unknown) => Reference[];
}
