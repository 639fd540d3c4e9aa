/**
 * The version of the program; `CHANGELOG.md` has an entry for each.
 *
 * @module
 */

/** Version as `svc version` prints it. */
export const VERSION = "0.2.0";
