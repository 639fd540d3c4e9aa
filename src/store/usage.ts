/**
 * What the records of each trigger take.
 *
 * @module
 */

import type { TriggerKey } from "./retention_store.ts";

/** Numbers of records, and sizes in bytes. */
export interface UsageOf {
  readonly deliveries: number;
  /** Bodies of deliveries. */
  readonly bodyBytes: number;
  /** The rest of them: headers, addresses, reasons. */
  readonly deliveryBytes: number;
  readonly tasks: number;
  /** Payloads of tasks, what their steps gave, and their inboxes. */
  readonly taskBytes: number;
  /** Output of steps. */
  readonly logBytes: number;
  /** Events of chats. */
  readonly eventBytes: number;
}

/** What one trigger takes; one that was deleted has its records still. */
export interface TriggerUsage extends UsageOf, TriggerKey {}

/** What a database holds. */
export interface DatabaseUsage {
  readonly bytes: number;
  /** Bytes of pages that hold nothing and that a vacuum gives back. */
  readonly unusedBytes: number;
  readonly triggers: readonly TriggerUsage[];
}
