/**
 * REGISTRY of what `spec.event.<source>` may hold. Each trigger source brings the schema of its own
 * block; what the source does at run time is in `sources/`, under the same name.
 *
 * @module
 */

import type { TSchema } from "typebox";
import type { Reference } from "./kind.ts";
import type { Finding } from "./resource.ts";
import { webhookEvent } from "./event_webhook.ts";

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

/** Every trigger source. */
export const EVENTS: readonly EventDefinition[] = [webhookEvent];
