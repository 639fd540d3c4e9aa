/**
 * How long a statement may take. The server ends it then; where its answer has not come a little later,
 * it never comes: the packets of the connection vanish. Without a limit here, the system would say so
 * after a quarter of an hour, or never.
 *
 * @module
 */

/** A statement of a daemon. */
export const STATEMENT_MS = 60_000;
/** A look through a large table, or a change of all of it. */
export const SLOW_MS = 30 * 60_000;
/** How long the answer may come later than the server ends a statement. */
export const ANSWER_LATE_MS = 10_000;
/** For the driver: a query that has limits of its own. The longest time that a timer takes. */
export const NEVER_MS = 2 ** 31 - 1;
