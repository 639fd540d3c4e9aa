/**
 * The operation behind `svc doctor`: the checks that the daemon makes on its machine.
 *
 * @module
 */

import { defineOperation, lines } from "./operation.ts";

/** The result of one check. */
export interface DoctorFinding {
  /** Name of the check; one check may find several things. */
  readonly check: string;
  /** `failed`: something does not work, or cannot. `warning`: something works worse than it could. */
  readonly result: "ok" | "warning" | "failed";
  /** The finding and its remedy: a sentence without a full stop at its end. */
  readonly message: string;
}

/** One line: the check that begins, or the finding of one. */
export type DoctorLine = { readonly begins: string } | { readonly finding: DoctorFinding };

/** The operation, by name. */
export const DOCTOR_OPERATIONS = {
  "doctor": defineOperation({
    summary: "Looks for what keeps svc from working: data directory, database, key, programs, …",
    input: {},
    output: lines<DoctorLine>(),
    role: "operator", // it reads every page of the database
  }),
};
