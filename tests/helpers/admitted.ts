/**
 * Decisions for tests of the store, which takes none but those of `admit`.
 *
 * @module
 */

import type { Admitted, EventDecision } from "../../src/store/delivery_records.ts";

/** The decision as `admit` would have given it. */
export function admitted(decision: EventDecision): Admitted {
  return decision as Admitted;
}
