/**
 * A pause as operations return it.
 *
 * @module
 */

import type { PauseView } from "../../api/pause_operations.ts";
import { rfc3339 } from "../../base/clock.ts";
import type { Pause } from "../../store/pause_records.ts";

/** A pause, as operations return it. */
export function pauseView({ project, reason, by, pausedAt, until }: Pause): PauseView {
  return {
    project: project === "" ? null : project,
    reason,
    by,
    since: rfc3339(pausedAt),
    until: until === undefined ? null : rfc3339(until),
  };
}
