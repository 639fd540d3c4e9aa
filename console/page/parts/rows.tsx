/**
 * A long list of rows of one height: only what is on the screen is in the page. `j` and `k` move,
 * Enter opens.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { useKeys } from "../keys.ts";
import { go } from "../route.ts";

/** Height of a row in pixels; styles/parts.css holds the same. */
const ROW_PX = 34;
/** Rows beyond the edges of the screen. */
const SPARE = 10;

/** One column. */
export interface Column<Item> {
  readonly header: string;
  readonly cell: (item: Item) => ComponentChildren;
  /** Width as in `grid-template-columns`. */
  readonly width: string;
  /** Whether it goes where room is short. */
  readonly spare?: boolean;
}

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
  const box = useRef<HTMLDivElement>(null);
  const view = useSignal({ top: 0, height: 800 });
  const picked = useSignal("");
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const look = () => view.value = { top: element.scrollTop, height: element.clientHeight };
    const resized = new ResizeObserver(look);
    resized.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      resized.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, []);

  const move = (by: number) => {
    const at = items.findIndex((item) => id(item) === picked.value);
    const next = Math.max(0, Math.min(items.length - 1, at + by));
    const item = items[next];
    if (item === undefined || box.current === null) return;
    picked.value = id(item);
    const { scrollTop, clientHeight } = box.current;
    const top = next * ROW_PX;
    if (top < scrollTop) box.current.scrollTop = top;
    else if (top + 2 * ROW_PX > scrollTop + clientHeight) {
      box.current.scrollTop = top + 2 * ROW_PX - clientHeight;
    }
    requestAnimationFrame(() => box.current?.querySelector<HTMLElement>(".row.picked a")?.focus());
  };
  useKeys([
    { key: "j", help: "Next row", act: () => move(1) },
    { key: "k", help: "Row before", act: () => move(-1) },
  ]);

  const first = Math.max(0, Math.floor(view.value.top / ROW_PX) - SPARE);
  const last = Math.ceil((view.value.top + view.value.height) / ROW_PX) + SPARE;
  const widths = (of: readonly Column<Item>[]) => of.map(({ width }) => width).join(" ");
  const narrow = columns.filter(({ spare }) => spare !== true);
  const template = `--columns:${widths(columns)};--columns-narrow:${widths(narrow)}`;
  return (
    <div class="rows" role="table" aria-label={label} aria-rowcount={items.length + 1}>
      <div class="row head" role="row" style={template}>
        {columns.map(({ header, spare }) => (
          <span role="columnheader" key={header} class={spare ? "spare" : ""}>{header}</span>
        ))}
      </div>
      <div class="scroll" ref={box} role="rowgroup" tabindex={-1}>
        <div role="presentation" style={`height:${items.length * ROW_PX}px`} class="all">
          {items.slice(first, last).map((item, index) => (
            <div
              key={id(item)}
              role="row"
              aria-rowindex={first + index + 2}
              class={id(item) === picked.value ? "row picked" : "row"}
              style={`${template};top:${(first + index) * ROW_PX}px`}
              onClick={(event) => openUnlessLink(event, to(item))}
            >
              {columns.map(({ header, cell, spare }) => (
                <span role="cell" key={header} class={spare ? "spare" : ""}>{cell(item)}</span>
              ))}
            </div>
          ))}
        </div>
        {more !== undefined && (
          <button type="button" class="more" onClick={more}>
            Older ones
          </button>
        )}
      </div>
    </div>
  );
}

/** A click on a row is one on its link; text that is being selected is left alone. */
function openUnlessLink(event: MouseEvent, address: string): void {
  if (event.target instanceof Element && event.target.closest("a, button") !== null) return;
  if (getSelection()?.isCollapsed === false) return;
  go(address);
}
