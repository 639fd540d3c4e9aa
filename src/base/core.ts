/**
 * What nearly every part of a daemon is made with.
 *
 * @module
 */

import type { Clock } from "./clock.ts";
import type { Log } from "./log.ts";

/** The time and the log. A part that needs more names only the rest: `interface X extends Core`. */
export interface Core {
  readonly clock: Clock;
  readonly log: Log;
}
