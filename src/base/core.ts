/**
 * The parts that nearly all code of a daemon uses.
 *
 * @module
 */

import type { Clock } from "./clock.ts";
import type { Log } from "./log.ts";

/** The clock and the log. Code that needs more extends it: `interface RunHost extends Core`. */
export interface Core {
  readonly clock: Clock;
  readonly log: Log;
}
