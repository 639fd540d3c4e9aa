/**
 * What the program asks of storage about deliveries, and about what moves with them: the cursors of
 * schedules and the uses of keys.
 *
 * @module
 */

import type {
  Cursor,
  Delivery,
  DeliveryContent,
  DeliveryQuery,
  EventOutcome,
  KeyUse,
  NewDelivery,
  Rejection,
  RejectionLimits,
  StoredDelivery,
} from "./delivery_records.ts";

/** Takes in what arrives. */
export interface DeliveryRecorder {
  /**
   * Decides which events are new and have room, and stores the delivery and the tasks of those.
   *
   * @throws {AppError} `rate_limited` when its trigger refuses more at this rate; nothing is
   * stored.
   */
  recordDelivery(delivery: NewDelivery): Promise<readonly EventOutcome[]>;
  /** Stores a handshake of a platform, which starts nothing. */
  recordHandshake(delivery: Delivery, content: DeliveryContent): Promise<void>;
  /** Stores refused requests; of each trigger only the newest stay. */
  recordRejections(rejections: readonly Rejection[], limits: RejectionLimits): Promise<void>;
}

/** Deliveries as they were stored. */
export interface DeliveryStore {
  /** Newest first. */
  listDeliveries(query: DeliveryQuery): Promise<Delivery[]>;
  /** A delivery with what arrived; `undefined` when there is none of that id. */
  readDelivery(id: string): Promise<StoredDelivery | undefined>;
  /** Deliveries whose id starts with `prefix`, at most two: enough to tell one from several. */
  findDeliveries(prefix: string): Promise<Delivery[]>;
}

/** Remembers up to where schedules have been looked at, also over restarts. */
export interface CursorStore {
  /** Up to where a schedule has been looked at; `undefined` when it never was. */
  findCursor(name: string): Promise<number | undefined>;
  /** Moves a cursor. */
  moveCursor(cursor: Cursor): Promise<void>;
}

/** Counts which keys of SecretStores match deliveries, so that an unused one can be removed. */
export interface KeyUseStore {
  /** Adds to the uses of keys. */
  recordKeyUse(uses: readonly KeyUse[]): Promise<void>;
  /** Uses of the keys of one SecretStore. */
  listKeyUse(project: string, store: string): Promise<KeyUse[]>;
}
