/**
 * Identifiers: ULIDs, which sort by time of making, so that the newest rows lie together on disk.
 *
 * @module
 */

import { monotonicFactory } from "ulid";
import type { Clock } from "./clock.ts";

/** Makes a new identifier: 26 characters, later ones sort after earlier ones. */
export type NewId = () => string;

/** A maker of identifiers that reads the time from `clock`. */
export function idFactory(clock: Clock): NewId {
  const next = monotonicFactory();
  return () => next(clock.now());
}
