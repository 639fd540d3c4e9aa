/**
 * The end of an id, because ids of about the same time begin alike.
 *
 * @module
 */

/** Number of characters of an id that lists show. */
export const SHORT_ID = 6;

/** The last characters of an id. */
export function shortId(id: string): string {
  return `…${id.slice(-SHORT_ID)}`;
}

/** The last characters of an id, with the whole id as the title. */
export function ShortId({ id }: { readonly id: string }) {
  return <span class="mono" title={id}>{shortId(id)}</span>;
}
