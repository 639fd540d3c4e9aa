/**
 * Columns of tables, and a short table with all its rows. Long lists are in `rows.tsx`.
 *
 * @module
 */

import type { ComponentChildren } from "preact";

/** A column. The last column of a list takes the remaining width. */
export interface Column<Item> {
  readonly header: string;
  readonly cell: (item: Item) => ComponentChildren;
  /** Whether its values are never cut, even in a narrow window: times, states, ids. */
  readonly whole?: boolean;
  /** Whether the column holds numbers, which are aligned right. */
  readonly number?: boolean;
  /** Whether the column is the header of its row. */
  readonly heads?: boolean;
  /**
   * The place in a narrow window, where a row of a list has two lines: `lead`, `title` and `time`
   * in the first, `more` and `text` in the second. There, a list leaves out a column without a
   * place, and a table leaves out a column that is `gone`.
   */
  readonly narrow?: "lead" | "title" | "time" | "more" | "text" | "gone";
}

/** A table that renders all its items; for lists of unknown length there is `Rows`. */
export function Table<Item>({ items, columns, id, label, caption, look = "", mark }: {
  readonly items: readonly Item[];
  readonly columns: readonly Column<Item>[];
  readonly id: (item: Item, index: number) => string | number;
  /** The label of the table for screen readers, unless it has a caption. */
  readonly label?: string;
  readonly caption?: string;
  /** An extra class of the table. */
  readonly look?: string;
  /** The class of a row. */
  readonly mark?: (item: Item) => string;
}) {
  const texts = columns.filter(({ whole, number, heads }) => !whole && !number && !heads);
  const rest = texts.length === 1 ? texts[0] : undefined; // several share the width by need
  const classOf = (column: Column<Item>) =>
    [
      column.whole ? "uncut" : "",
      column.number ? "number" : "",
      column.narrow === "gone" ? "gone" : "",
      column === rest ? "rest" : "",
    ].filter((one) => one !== "").join(" ");
  return (
    <div class="scroll-x">
      <table class={`table ${look}`} aria-label={label}>
        {caption !== undefined && <caption class="faint">{caption}</caption>}
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.header} scope="col" class={classOf(column)}>{column.header}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {items.map((item, index) => (
            <tr key={id(item, index)} class={mark?.(item)}>
              {columns.map((column) => {
                const { header, cell, heads } = column;
                return heads
                  ? <th key={header} scope="row" class={classOf(column)}>{cell(item)}</th>
                  : <td key={header} class={classOf(column)}>{cell(item)}</td>;
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
