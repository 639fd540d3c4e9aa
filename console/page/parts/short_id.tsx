/**
 * The end of an id, by which it is told from others at a glance: ids of one time begin alike.
 *
 * @module
 */

/** The last characters of an id; all of it is a hover away. */
export function ShortId({ id }: { readonly id: string }) {
  return <span class="mono" title={id}>…{id.slice(-6)}</span>;
}
