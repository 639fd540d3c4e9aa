/**
 * A long list: only what is on the screen is in the page, and the page is what scrolls. Columns are as
 * wide as what is in them; where room is short, a row has two lines. `j` and `k` move, Enter opens.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { useKeys } from "../keys.ts";
import { go } from "../route.ts";
import { narrow } from "./narrow.ts";
import type { Column } from "./table.tsx";

/** Height of a row in pixels, of one line and of two. */
const ROW_PX = { wide: 36, narrow: 62 };
/** Rows beyond the edges of the screen. */
const SPARE = 12;
/** Widest that a column becomes for what is in it, where that may be cut. */
const WIDEST = "26rem";

/** A table of rows. */
export function Rows<Item>(
  { items, columns, id, to, label, more }: {
    readonly items: readonly Item[];
    readonly columns: readonly Column<Item>[];
    readonly id: (item: Item) => string;
    /** Address of the screen of an item. */
    readonly to: (item: Item) => string;
    /** What the rows are. */
    readonly label: string;
    /** Loads older rows; absent when there are none. */
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
    const moved = new ResizeObserver(look); // what stands above the list, too
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

/** As wide as what is in them; where that is too much, those that may be cut share the room. */
function widthsOf<Item>(columns: readonly Column<Item>[]): string {
  return columns.map(({ whole }, index) =>
    index === columns.length - 1
      ? "minmax(6rem, 1fr)"
      : whole
      ? "max-content"
      : `fit-content(${WIDEST})`
  ).join(" ");
}

/** A click on a row is one on its link; text that is being selected is left alone. */
function openUnlessLink(event: MouseEvent, address: string): void {
  if (event.target instanceof Element && event.target.closest("a, button") !== null) return;
  if (getSelection()?.isCollapsed === false) return;
  go(address);
}
