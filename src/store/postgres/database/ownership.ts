/**
 * Whose a claim is. Rows that a daemon claims carry its node and that run of it (`Owner`); each
 * connection tells the database for whom it speaks.
 *
 * @module
 */

/**
 * Whether the run that claimed the row is over, so that this one may take the claim: it was a former
 * start of this daemon, or its node has let its lease run out or has started anew. Takes no values.
 * After the database was away every lease has run out: a node whose own is not a lease old yet takes
 * nothing of others, so that they can renew theirs first.
 */
export const isGoneSql = (table: string): string =>
  `(NOT ${isMineSql(table)} AND NOT EXISTS (SELECT 1 FROM nodes WHERE nodes.id = ${table}.node
     AND nodes.run = ${table}.run AND nodes.lease_until > now())
   AND (${table}.node IN ('', current_setting('svc.node')) OR EXISTS (SELECT 1 FROM nodes
     WHERE nodes.id = current_setting('svc.node') AND nodes.judges_from <= now())))`;

/** Whether this run claimed the row. Takes no values. */
export const isMineSql = (table: string): string =>
  `(${table}.node = current_setting('svc.node') AND ${table}.run = current_setting('svc.run'))`;
