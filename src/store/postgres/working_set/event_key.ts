/**
 * The keys of events under which the working set looks up earlier events.
 *
 * @module
 */

import { dedupDigest } from "../../rules/keys.ts";
import type { KeyedEvent } from "../../delivery_records.ts";

const made = new WeakMap<KeyedEvent, string>();

/**
 * The digest of the key of an event in hexadecimal; `undefined` when it has none. It is kept for
 * each event, because hashing is a good part of what an event costs.
 */
export function eventKey(event: KeyedEvent): string | undefined {
  const known = made.get(event);
  if (known !== undefined) return known;
  const key = dedupDigest(event)?.toHex();
  if (key !== undefined) made.set(event, key);
  return key;
}
