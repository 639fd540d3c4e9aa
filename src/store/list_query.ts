/**
 * What every list of records can be asked.
 *
 * @module
 */

/** Which records a list is to hold. */
export interface ListQuery {
  /** Only of this project; every project when absent. */
  readonly project?: string;
  /** Only of this trigger. */
  readonly trigger?: string;
  /** Only from this time on, in milliseconds since the epoch. */
  readonly since?: number;
  /** At most this many, newest first. */
  readonly limit: number;
}
