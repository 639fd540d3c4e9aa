/**
 * Tiles: a few figures, large enough to be read from afar.
 *
 * @module
 */

import type { ComponentChildren } from "preact";

/** A figure with its label, and optionally a note and a small chart. */
export interface Tile {
  readonly label: string;
  readonly value: ComponentChildren;
  /** A line below the figure. */
  readonly note?: ComponentChildren;
  readonly tone?: "bad" | "busy" | "pending";
  /** A small chart of the figure over time. */
  readonly trend?: ComponentChildren;
}

/** Shows figures side by side. */
export function Tiles({ tiles }: { readonly tiles: readonly Tile[] }) {
  return (
    <dl class="tiles">
      {tiles.map(({ label, value, note, tone, trend }) => (
        <div key={label} class={tone}>
          <dt>{label}</dt>
          <dd>
            <span class="figure">{value}</span>
            {trend}
            {note !== undefined && <span class="note">{note}</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
}
