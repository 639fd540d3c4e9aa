/**
 * Finds the name that somebody meant who misspelt it.
 *
 * @module
 */

/** The known name that `name` is probably a misspelling of: the closest, the first among equals. */
export function findLike(name: string, known: readonly string[]): string | undefined {
  const wanted = name.toLowerCase();
  const near = known.map((candidate) => ({ candidate, edits: editsTo(candidate, wanted) }))
    .filter(({ edits }) => edits !== undefined) as { candidate: string; edits: number }[];
  return near.toSorted((a, b) => a.edits - b.edits)[0]?.candidate;
}

/**
 * The known name that was meant where names are words of ours: one that `name` misspells, else the
 * first that it is the beginning of.
 */
export function findMeant(name: string, known: readonly string[]): string | undefined {
  const wanted = name.toLowerCase();
  const begun = wanted.length < 3
    ? undefined
    : known.find((candidate) => candidate.toLowerCase().startsWith(wanted));
  return findLike(name, known) ?? begun;
}

/** The `count` known names that are nearest to `name`, however far: the nearest first. */
export function findNearest(name: string, known: readonly string[], count: number): string[] {
  const wanted = name.toLowerCase();
  return known.map((candidate) => ({ candidate, edits: distance(candidate.toLowerCase(), wanted) }))
    .toSorted((a, b) => a.edits - b.edits).slice(0, count).map(({ candidate }) => candidate);
}

/**
 * How many letters `name` is away from `known`; `undefined` when it is too far to be a
 * misspelling: one edit in a short name, two in a longer one.
 */
export function editsTo(known: string, name: string): number | undefined {
  const most = known.length < 6 ? 1 : 2;
  if (Math.abs(known.length - name.length) > most) return undefined;
  const edits = distance(known.toLowerCase(), name.toLowerCase());
  // Of a name that is one letter, one edit leaves nothing.
  return edits <= most && edits < Math.max(known.length, name.length) ? edits : undefined;
}

/** Edit distance: letters to insert, remove, change, or swap with their neighbour. */
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
