/**
 * The end of an id, which tells ids apart at a glance: ids of one time begin alike.
 *
 * @module
 */

/** How many characters of an id lists show. */
export const SHORT_ID = 6;

/** The last characters of an id. */
export function shortId(id: string): string {
  return `…${id.slice(-SHORT_ID)}`;
}

/** The same, with all of it a hover away. */
export function ShortId({ id }: { readonly id: string }) {
  return <span class="mono" title={id}>{shortId(id)}</span>;
}
