/**
 * What a search for ids goes by, in both databases.
 *
 * @module
 */

import type { NumberedRecord } from "../../resources/record_names.ts";

/** The table of each kind of record; each has an index that begins with `id`. */
export const RECORD_TABLES: Readonly<Record<NumberedRecord, string>> = {
  "task": "tasks",
  "delivery": "deliveries",
  "source-event": "source_events",
  "binding": "bindings",
  "outbox": "outbox",
  "audit": "plugin_audit",
  "token": "control_tokens",
  "control-audit": "control_audit",
};

/**
 * Fewest characters of a part that is no beginning: among ten thousand ids an end of four
 * characters is another id's one time in a hundred, and a word such as `test` would be in the
 * middle of one of them one time in five.
 */
export const LEAST_PART = { end: 4, middle: 6 };
