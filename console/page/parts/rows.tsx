/**
 * A long list: only the rows near the screen are in the page, and the whole page scrolls. Columns
 * are as wide as their values; in a narrow window, a row has two lines. `j` and `k` move, Enter
 * opens.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { useKeys } from "../keys.ts";
import { go } from "../route.ts";
import { narrow } from "./narrow.ts";
import type { Column } from "./table.tsx";

/** Height in pixels of a row with one line, and of a row with two. */
const ROW_PX = { wide: 36, narrow: 62 };
/** Rows that are rendered beyond each edge of the screen. */
const SPARE = 12;
/** Greatest width of a column whose values may be cut. */
const WIDEST = "26rem";

/** A list that renders only the rows near the screen. */
export function Rows<Item>(
  { items, columns, id, to, label, more }: {
    readonly items: readonly Item[];
    readonly columns: readonly Column<Item>[];
    readonly id: (item: Item) => string;
    /** The address of the screen of an item. */
    readonly to: (item: Item) => string;
    /** The label of the list for screen readers. */
    readonly label: string;
    /** Loads older rows; absent if there are none. */
    readonly more?: (() => void) | undefined;
  },
) {
  const head = useRef<HTMLDivElement>(null);
  const body = useRef<HTMLDivElement>(null);
  const shown = useSignal({ first: 0, last: Math.ceil(innerHeight / ROW_PX.wide) + SPARE });
  const picked = useSignal("");
  const rowPx = narrow.value ? ROW_PX.narrow : ROW_PX.wide;
  useEffect(() => {
    const look = () => {
      const top = body.current?.getBoundingClientRect().top ?? 0;
      const first = Math.max(0, Math.floor(-top / rowPx) - SPARE);
      const last = Math.max(0, Math.ceil((innerHeight - top) / rowPx)) + SPARE;
      const { first: before, last: until } = shown.peek();
      if (first !== before || last !== until) shown.value = { first, last };
    };
    look();
    const moved = new ResizeObserver(look); // also when elements above the list change
    moved.observe(document.body);
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    return () => {
      moved.disconnect();
      removeEventListener("scroll", look);
      removeEventListener("resize", look);
    };
  }, [rowPx]);

  const move = (by: number) => {
    const at = items.findIndex((item) => id(item) === picked.value);
    const next = Math.max(0, Math.min(items.length - 1, at + by));
    const item = items[next];
    if (item === undefined || body.current === null) return;
    picked.value = id(item);
    const top = body.current.getBoundingClientRect().top + next * rowPx;
    const edge = head.current?.getBoundingClientRect().bottom ?? 0;
    if (top < edge) scrollBy(0, top - edge);
    else if (top + 2 * rowPx > innerHeight) scrollBy(0, top + 2 * rowPx - innerHeight);
    requestAnimationFrame(() =>
      body.current?.querySelector<HTMLElement>(".row.picked a")?.focus({ preventScroll: true })
    );
  };
  useKeys([
    { key: "j", help: "Next row", act: () => move(1) },
    { key: "k", help: "Previous row", act: () => move(-1) },
  ]);

  const { first, last } = shown.value;
  const start = Math.min(first, items.length);
  const style = `--columns:${widthsOf(columns)};--row:${rowPx}px`;
  return (
    <div
      class="rows"
      role="table"
      aria-label={label}
      aria-rowcount={items.length + 1}
      style={style}
    >
      <div class="row head" role="row" ref={head}>
        {columns.map(({ header, number, narrow = "gone" }) => (
          <span role="columnheader" key={header} class={`${narrow}${number ? " number" : ""}`}>
            {header}
          </span>
        ))}
      </div>
      <div
        class="all"
        role="rowgroup"
        ref={body}
        style={`height:${items.length * rowPx}px;padding-top:${start * rowPx}px`}
      >
        {items.slice(start, last).map((item, index) => (
          <div
            key={id(item)}
            role="row"
            aria-rowindex={start + index + 2}
            class={id(item) === picked.value ? "row picked" : "row"}
            onFocusIn={() => picked.value = id(item)}
            onClick={(event) => openUnlessLink(event, to(item))}
          >
            {columns.map(({ header, cell, number, narrow = "gone" }) => (
              <span role="cell" key={header} class={`${narrow}${number ? " number" : ""}`}>
                {cell(item)}
              </span>
            ))}
          </div>
        ))}
      </div>
      {more !== undefined && (
        <button type="button" class="more-rows" onClick={more}>
          Show older
        </button>
      )}
    </div>
  );
}

/**
 * Columns as wide as their values; if that is too wide, the columns that may be cut share the rest.
 */
function widthsOf<Item>(columns: readonly Column<Item>[]): string {
  return columns.map(({ whole }, index) =>
    index === columns.length - 1
      ? "minmax(6rem, 1fr)"
      : whole
      ? "max-content"
      : `fit-content(${WIDEST})`
  ).join(" ");
}

/** A click on a row clicks its link, unless the click selects text. */
function openUnlessLink(event: MouseEvent, address: string): void {
  if (event.target instanceof Element && event.target.closest("a, button") !== null) return;
  if (getSelection()?.isCollapsed === false) return;
  go(address);
}
