/**
 * The space that the records of each trigger take.
 *
 * @module
 */

import type { TriggerKey } from "./retention_store.ts";

/** Numbers of records, and sizes in bytes. */
export interface UsageOf {
  readonly deliveries: number;
  /** Bodies of deliveries. */
  readonly bodyBytes: number;
  /** Deliveries without their bodies: headers, addresses, reasons. */
  readonly deliveryBytes: number;
  readonly tasks: number;
  /** Payloads of tasks, outputs of their steps, and their inboxes. */
  readonly taskBytes: number;
  /** Output of steps. */
  readonly logBytes: number;
  /** Events of chats. */
  readonly eventBytes: number;
}

/** The usage of one trigger; a deleted trigger may still have records. */
export interface TriggerUsage extends UsageOf, TriggerKey {}

/** The usage of a database. */
export interface DatabaseUsage {
  readonly bytes: number;
  /** Bytes of pages that hold nothing and that a vacuum gives back. */
  readonly unusedBytes: number;
  readonly triggers: readonly TriggerUsage[];
}
