/**
 * A few figures, large enough to be read from afar.
 *
 * @module
 */

import type { ComponentChildren } from "preact";

/** One figure. */
export interface Tile {
  readonly label: string;
  readonly value: ComponentChildren;
  /** A line below it. */
  readonly note?: ComponentChildren;
  readonly tone?: "bad" | "busy" | "pending";
  /** Its course, drawn small. */
  readonly trend?: ComponentChildren;
}

/** Figures side by side. */
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
