/**
 * The storage interfaces for deliveries, for the cursors of schedules and for the uses of keys.
 *
 * @module
 */

import type {
  Cursor,
  Delivery,
  DeliveryContent,
  DeliveryQuery,
  EventOutcome,
  HeaderPage,
  HeaderQuery,
  KeyUse,
  NewDeliveries,
  NewDelivery,
  Rejection,
  RejectionLimits,
  StoredDelivery,
} from "./delivery_records.ts";

/** Records inbound requests. */
export interface DeliveryRecorder {
  /**
   * Stores a delivery, and the tasks of those of its events that are new and admitted by the
   * limits.
   *
   * @throws {AppError} `rate_limited` when its trigger refuses more at this rate; nothing is
   * stored.
   */
  recordDelivery(delivery: NewDelivery): Promise<readonly EventOutcome[]>;
  /**
   * Stores one request as several triggers get it: all of them or none.
   *
   * @returns The outcomes of each delivery, in their order.
   * @throws {AppError} `rate_limited` as {@linkcode recordDelivery}.
   */
  recordDeliveries(request: NewDeliveries): Promise<readonly (readonly EventOutcome[])[]>;
  /** Stores a handshake of a platform, which starts nothing. */
  recordHandshake(delivery: Delivery, content: DeliveryContent): Promise<void>;
  /** Stores rejected requests; only the newest of each trigger stay. */
  recordRejections(rejections: readonly Rejection[], limits: RejectionLimits): Promise<void>;
}

/** Deliveries as they were stored. */
export interface DeliveryStore {
  /** Newest first. */
  listDeliveries(query: DeliveryQuery): Promise<Delivery[]>;
  /** A delivery with its content; `undefined` when no delivery has this id. */
  readDelivery(id: string): Promise<StoredDelivery | undefined>;
  /** The same for several ids, newest first; ids without a delivery are left out. */
  readDeliveries(ids: readonly string[]): Promise<StoredDelivery[]>;
  /**
   * Deliveries whose id starts with `prefix`, at most two: enough to see that a prefix is
   * ambiguous.
   */
  findDeliveries(prefix: string): Promise<Delivery[]>;
  /** Values of one header of the deliveries that were not rejected, newest first. */
  listHeaderValues(query: HeaderQuery): Promise<HeaderPage>;
}

/** Remembers, over restarts too, up to which time schedules have been evaluated. */
export interface CursorStore {
  /** Time up to which a schedule has been evaluated; `undefined` before the first time. */
  findCursor(name: string): Promise<number | undefined>;
  moveCursor(cursor: Cursor): Promise<void>;
  /** Moves a cursor to a run of its schedule; `false` when another daemon has claimed that run. */
  claimRun(cursor: Cursor): Promise<boolean>;
}

/**
 * Counts which keys of SecretStores match deliveries, so that an operator can remove unused ones.
 */
export interface KeyUseStore {
  recordKeyUse(uses: readonly KeyUse[]): Promise<void>;
  listKeyUse(project: string, store: string): Promise<KeyUse[]>;
}
