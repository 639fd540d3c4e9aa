/**
 * Decisions for tests of the store, which accepts only those of `admit`.
 *
 * @module
 */

import type { Admitted, EventDecision } from "../../src/store/delivery_records.ts";

/** The decision, typed as one of `admit`. */
export function admitted(decision: EventDecision): Admitted {
  return decision as Admitted;
}
