/**
 * Values in statements: as `?` and `?1`, as in SQLite, and as PostgreSQL's `$1`.
 *
 * @module
 */

/** Statements are written in the program, so there are only so many. */
const known = new Map<string, string>();

/** Replaces `?` by `$1`, `$2` and so on in their order, and `?1` by `$1`; strings stay as they are. */
export function numbered(sql: string): string {
  const before = known.get(sql);
  if (before !== undefined) return before;
  let count = 0;
  const made = sql.replaceAll(
    /'[^']*'|\?(\d*)/g,
    (found, number: string | undefined) =>
      found.startsWith("'") ? found : `$${number === "" ? ++count : number}`,
  );
  if (known.size < MOST_KNOWN) known.set(sql, made);
  return made;
}

/** Lists have conditions of their own each: those are made anew once there are many. */
const MOST_KNOWN = 2000;
