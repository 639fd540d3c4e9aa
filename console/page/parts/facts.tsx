/**
 * Facts about a record or a resource: names and values.
 *
 * @module
 */

import type { ComponentChildren } from "preact";
import { Text } from "./text.tsx";

/** A list of names and values; a value that is `undefined` or `null` is left out. */
export function Facts({ of, look = "" }: {
  readonly of: Readonly<Record<string, ComponentChildren | undefined>>;
  /** An extra class of the element. */
  readonly look?: string;
}) {
  const known = Object.entries(of).filter(([, value]) => value !== undefined && value !== null);
  if (known.length === 0) return null;
  return (
    <dl class={`facts ${look}`}>
      {known.flatMap(([name, value]) => [
        <dt key={`${name} `}>
          <Text value={name} cell />
        </dt>,
        <dd key={name}>{value}</dd>,
      ])}
    </dl>
  );
}
