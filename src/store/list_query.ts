/**
 * The filter that all lists of records share.
 *
 * @module
 */

/** Which part of a list is read, and from which end. */
export interface ListRange {
  /** Only records from this time on, in milliseconds since the epoch. */
  readonly since?: number;
  /** Only records up to this time, in milliseconds since the epoch. */
  readonly until?: number;
  /** Only ids below this one, for the next page. */
  readonly before?: string;
  /** Only ids above this one, for the page that comes before. */
  readonly after?: string;
  /** The last id of this search, in the order of the list; the next search continues after it. */
  readonly to?: string;
  /** Only records with these ids. */
  readonly ids?: readonly string[];
  /** Whether the oldest are read, oldest first; the newest, newest first, when absent. */
  readonly oldestFirst?: boolean;
}

/** Filter of a list of records. */
export interface ListQuery extends ListRange {
  /** Every project when absent. */
  readonly project?: string;
  readonly trigger?: string;
  /** Most records to return. */
  readonly limit: number;
}
