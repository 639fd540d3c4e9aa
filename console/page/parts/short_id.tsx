/**
 * The end of an id, by which it is told from others at a glance: ids of one time begin alike.
 *
 * @module
 */

/** The last characters of an id. */
export function shortId(id: string): string {
  return `…${id.slice(-6)}`;
}

/** The same, with all of it a hover away. */
export function ShortId({ id }: { readonly id: string }) {
  return <span class="mono" title={id}>{shortId(id)}</span>;
}
