/**
 * Columns of tables, and a table of all its rows. A list that can be long is `rows.tsx`.
 *
 * @module
 */

import type { ComponentChildren } from "preact";

/** One column. In a list the last one takes the room that the others leave. */
export interface Column<Item> {
  readonly header: string;
  readonly cell: (item: Item) => ComponentChildren;
  /** Whether it is never cut, however short room is: times, states, ids. */
  readonly whole?: boolean;
  /** Whether it holds numbers, which stand right. */
  readonly number?: boolean;
  /** Whether it names the row. */
  readonly heads?: boolean;
  /**
   * Where room is short, a row of a list has two lines: `lead`, `title` and `time` in the first,
   * then `more` and `text`; a column without a place is not shown there. A table leaves out those
   * that are `gone`.
   */
  readonly narrow?: "lead" | "title" | "time" | "more" | "text" | "gone";
}

/** A table of a few rows. */
export function Table<Item>({ items, columns, id, label, caption, look = "", mark }: {
  readonly items: readonly Item[];
  readonly columns: readonly Column<Item>[];
  readonly id: (item: Item, index: number) => string | number;
  /** Names the rows for a screen reader, unless the table has a caption. */
  readonly label?: string;
  readonly caption?: string;
  /** A class of its own. */
  readonly look?: string;
  /** Class of a row. */
  readonly mark?: (item: Item) => string;
}) {
  const texts = columns.filter(({ whole, number, heads }) => !whole && !number && !heads);
  const rest = texts.length === 1 ? texts[0] : undefined; // several share the room by what they hold
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
