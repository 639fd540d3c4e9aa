/**
 * The functions of the database. They carry facts and actions, and no policy: what is decided is
 * decided in `store/rules/`.
 *
 * @module
 */

import { FACTS } from "./facts.ts";
import { JOB_FUNCTIONS } from "./job_functions.ts";
import { WRITE } from "./write.ts";

/** Statements that make them, or replace them as a whole. */
export const FUNCTIONS = `${FACTS}${WRITE}${JOB_FUNCTIONS}`;
