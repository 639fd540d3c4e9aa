/**
 * `svc doctor` while a daemon runs: the daemon makes the checks, because the steps run with its
 * environment, its rights and its limits.
 *
 * @module
 */

import type { DOCTOR_OPERATIONS } from "../api/doctor_operations.ts";
import { examine } from "../doctor/check.ts";
import { CHECKS } from "../doctor/checks.ts";
import { type Place, Scene } from "../doctor/place.ts";
import { use, type UseHost } from "../doctor/use.ts";
import type { Handlers } from "./server/server.ts";

/** The handler, by name of the operation. */
export function doctorHandlers(
  host: Omit<Place, "inDaemon"> & UseHost,
): Pick<Handlers, keyof typeof DOCTOR_OPERATIONS> {
  return {
    async *"doctor"(_input, _caller, signal) {
      yield* examine(CHECKS, new Scene({ ...host, inDaemon: true }), signal);
      yield* examine([use], host, signal);
    },
  };
}
