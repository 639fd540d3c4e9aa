/**
 * Facts about one thing: names and values.
 *
 * @module
 */

import type { ComponentChildren } from "preact";

/** A list of names and values; what is `undefined` or `null` is left out. */
export function Facts(
  { of }: { readonly of: Readonly<Record<string, ComponentChildren | undefined>> },
) {
  const known = Object.entries(of).filter(([, value]) => value !== undefined && value !== null);
  if (known.length === 0) return null;
  return (
    <dl class="facts">
      {known.flatMap(([name, value]) => [
        <dt key={`${name} `}>{name}</dt>,
        <dd key={name}>{value}</dd>,
      ])}
    </dl>
  );
}
