/**
 * Finds the known name that was probably meant by a misspelt one.
 *
 * @module
 */

/** The known name that `name` probably misspells: the closest one, the first of equally close ones. */
export function findLike(name: string, known: readonly string[]): string | undefined {
  const lower = name.toLowerCase();
  const near = known.map((candidate) => ({ candidate, edits: editsTo(candidate, lower) }))
    .filter(({ edits }) => edits !== undefined) as { candidate: string; edits: number }[];
  return near.toSorted((a, b) => a.edits - b.edits)[0]?.candidate;
}

/**
 * The known name that was probably meant, for names that svc has chosen: one that `name` misspells, else
 * the first that begins with `name`.
 */
export function findMeant(name: string, known: readonly string[]): string | undefined {
  const lower = name.toLowerCase();
  const begun = lower.length < 3
    ? undefined
    : known.find((candidate) => candidate.toLowerCase().startsWith(lower));
  return findLike(name, known) ?? begun;
}

/** The `count` known names that are closest to `name`, even if they are far; the closest first. */
export function findNearest(name: string, known: readonly string[], count: number): string[] {
  const lower = name.toLowerCase();
  return known.map((candidate) => ({ candidate, edits: distance(candidate.toLowerCase(), lower) }))
    .toSorted((a, b) => a.edits - b.edits).slice(0, count).map(({ candidate }) => candidate);
}

/**
 * The number of edits from `known` to `name`; `undefined` if there are too many for a misspelling: more
 * than one in a short name, more than two in a longer one.
 */
export function editsTo(known: string, name: string): number | undefined {
  const most = known.length < 6 ? 1 : 2;
  if (Math.abs(known.length - name.length) > most) return undefined;
  const edits = distance(known.toLowerCase(), name.toLowerCase());
  // One edit of a name with one letter leaves nothing of it.
  return edits <= most && edits < Math.max(known.length, name.length) ? edits : undefined;
}

/** The edit distance: the number of letters to insert, remove, change, or swap with their neighbour. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swap = swapped ? (before[j - 2] ?? 0) + 1 : Infinity;
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, change, swap));
    }
    [before, row] = [row, next];
  }
  return row[b.length] ?? 0;
}
