/**
 * The clock of the machine: signatures with a time, certificates and schedules go by it.
 *
 * @module
 */

import { rfc3339 } from "../base/clock.ts";
import { type Check, failed, type Finding, ok } from "./check.ts";
import type { Scene } from "./place.ts";

/** 2025-01-01: no svc is older. */
const EARLIEST_MS = 1_735_689_600_000;
/** Most by which clocks of machines that share a database may differ. */
const MOST_AHEAD_MS = 60_000;

/** Compares the clock with what can be known of the time. */
export const clock: Check<Scene> = {
  name: "clock",
  async look(scene, signal) {
    const seen = await scene.database(signal).catch(() => undefined); // the check of the database reports it
    return [clockFinding(scene.place.clock.now(), seen?.newestAt)];
  },
};

/** The finding about the time, compared with that of the newest record, if there is one. */
export function clockFinding(now: number, newest?: number): Finding {
  const set = "set it, best by NTP (timedatectl set-ntp true)";
  if (now < EARLIEST_MS) {
    return failed(`It is ${rfc3339(now)} on this machine, which is too early: ${set}`);
  }
  if (newest !== undefined && newest > now + MOST_AHEAD_MS) {
    const found = `It is ${rfc3339(now)} on this machine, and the newest record is of ` +
      rfc3339(newest);
    return failed(`${found}: the clock is behind, or was ahead then; ${set}`);
  }
  return ok(rfc3339(now));
}
