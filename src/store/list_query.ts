/**
 * The filter that all lists of records share.
 *
 * @module
 */

/** Filter of a list of records. */
export interface ListQuery {
  /** Every project when absent. */
  readonly project?: string;
  readonly trigger?: string;
  /** Only records from this time on, in milliseconds since the epoch. */
  readonly since?: number;
  /** Most records to return, newest first. */
  readonly limit: number;
}
