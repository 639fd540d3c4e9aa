/**
 * Rows of the table `key_uses` as records.
 *
 * @module
 */

import type { KeyUse } from "../delivery_records.ts";
import { number, text } from "./columns.ts";
import type { Row } from "./row.ts";

/** Uses of a key. */
export function toKeyUse(row: Row): KeyUse {
  return {
    project: text(row, "project"),
    store: text(row, "store"),
    key: text(row, "key"),
    trigger: text(row, "trigger"),
    count: number(row, "count"),
    lastAt: number(row, "last_at"),
  };
}
