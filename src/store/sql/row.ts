/**
 * The types of rows and of the values of columns, for both databases.
 *
 * @module
 */

/** A value of a column. Times are integers in milliseconds, flags 0 or 1, bodies bytes. */
export type SqlValue = string | number | bigint | null | Uint8Array;

/** A row by column name. */
export type Row = Record<string, SqlValue>;
