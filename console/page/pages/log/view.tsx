/**
 * The visible lines of a log. All lines have the same height, and only the lines near the screen
 * are in the page. Wrapped lines have different heights, so all of them are in the page, and fewer
 * are held.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { LogText } from "../../../../src/api/task_operations.ts";
import { Clock } from "../../parts/time.tsx";
import { href } from "../../route.ts";
import type { LogControl } from "./control.ts";
import { LineText } from "../../parts/log_line.tsx";
import { lineName } from "./window.ts";

/** Height of a line in pixels; styles/log.css holds the same. */
const LINE_PX = 20;
/** Lines that are rendered beyond each edge of the screen. */
const SPARE = 30;
/** Distance in pixels from the first or the last held line at which more lines are read. */
const EDGE_PX = 3000;

/** The log to show, and how to show its lines. */
export interface LogViewProps {
  readonly control: LogControl;
  readonly wrap: boolean;
  /** The text to mark; empty for none. */
  readonly searched: string;
  /** Whether each line begins with the name of its step. */
  readonly steps: boolean;
  /** Id of the task, for links to lines. */
  readonly task: string;
  /** Filters of the address that a link to a line keeps. */
  readonly filters: Readonly<Record<string, string>>;
}

/** The lines, in a box that scrolls. */
export function LogView(props: LogViewProps) {
  const { control, wrap } = props;
  const box = useRef<HTMLDivElement>(null);
  const place = useSignal({ top: 0, height: 800 });
  const anchor = useRef<Anchor | undefined>(undefined);
  const { lines } = control.window;

  const lastTop = useRef(0);

  const look = () => {
    const element = box.current;
    if (element === null) return;
    const { scrollTop, clientHeight, scrollHeight } = element;
    place.value = { top: scrollTop, height: clientHeight };
    anchor.current = anchorOf(element, { wrap, lines: control.window.lines });
    control.top = anchor.current?.name ?? "";
    const below = scrollHeight - scrollTop - clientHeight;
    control.following.value = below < 4 && control.window.atEnd;
    // Only after a person has scrolled: lines just dropped at an end must not be read again at
    // once.
    const moved = scrollTop - lastTop.current;
    lastTop.current = scrollTop;
    const edge = Math.min(EDGE_PX, (scrollHeight - clientHeight) / 4);
    if (moved < 0 && scrollTop < edge) void control.extend(true);
    if (moved > 0 && below < edge) void control.extend(false);
  };
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    element.addEventListener("scroll", look, { passive: true });
    const resized = new ResizeObserver(look);
    resized.observe(element);
    return () => {
      resized.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, [control, wrap]);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    scrollToTarget(element, { control, wrap, anchor: anchor.current });
    control.target = undefined;
    lastTop.current = element.scrollTop;
    look();
  }, [control, wrap, control.version.value]);

  const first = wrap ? 0 : Math.max(0, Math.floor(place.value.top / LINE_PX) - SPARE);
  const last = wrap
    ? lines.length
    : Math.ceil((place.value.top + place.value.height) / LINE_PX) + SPARE;
  return (
    <div
      ref={box}
      class={wrap ? "log wrapped" : "log"}
      tabindex={0}
      role="region"
      aria-label="Lines of the log"
    >
      <div class="all" style={wrap ? "" : `height:${lines.length * LINE_PX}px`}>
        <div class="part" style={wrap ? "" : `top:${first * LINE_PX}px`}>
          {lines.slice(first, last).map((line) => (
            <Line key={lineName(line)} line={line} {...props} />
          ))}
        </div>
      </div>
    </div>
  );
}

function Line(
  { line, control, searched, steps, task, filters }: LogViewProps & { readonly line: LogText },
) {
  const name = lineName(line);
  const isCurrent = control.current.value === name;
  const address = href(["task", task, "log"], { ...filters, line: name });
  const show = (event: MouseEvent) => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    history.replaceState(null, "", address);
    control.current.value = name;
  };
  return (
    <div
      class={`line ${line.stream}${isCurrent ? " current" : ""}`}
      data-line={name}
      aria-current={isCurrent ? "true" : undefined}
    >
      <a class="at" href={address} tabindex={-1} onClick={show}>
        <Clock at={line.at} />
      </a>
      {steps && <span class="of" title={line.step}>{line.step}</span>}
      <span class="what">
        <LineText text={line.text} cut={line.cut} searched={searched} />
      </span>
    </div>
  );
}

/** A line whose position on the screen is to stay the same. */
interface Anchor {
  readonly name: string;
  /** Distance from the top of the box to the line, in pixels. */
  readonly below: number;
}

function anchorOf(
  box: HTMLElement,
  { wrap, lines }: { readonly wrap: boolean; readonly lines: readonly LogText[] },
): Anchor | undefined {
  if (!wrap) {
    const index = Math.max(0, Math.floor(box.scrollTop / LINE_PX));
    const line = lines[index];
    return line && { name: lineName(line), below: index * LINE_PX - box.scrollTop };
  }
  const shown = [...box.querySelectorAll<HTMLElement>("[data-line]")];
  let [low, high] = [0, shown.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const element = shown[middle];
    if (element !== undefined && element.offsetTop + element.offsetHeight <= box.scrollTop) {
      low = middle + 1;
    } else high = middle;
  }
  const element = shown[low];
  return element && {
    name: element.dataset["line"] ?? "",
    below: element.offsetTop - box.scrollTop,
  };
}

/**
 * Scrolls the box to where the control wants it, or else so that the visible lines stay in place.
 */
function scrollToTarget(
  box: HTMLElement,
  { control: { target, window: { lines } }, wrap, anchor }: {
    readonly control: LogControl;
    readonly wrap: boolean;
    readonly anchor: Anchor | undefined;
  },
): void {
  if (target === "start") box.scrollTop = 0;
  else if (target === "end") box.scrollTop = box.scrollHeight;
  else {
    // A found line is shown with some lines before it.
    const wanted = target === undefined
      ? anchor
      : "top" in target
      ? { name: target.top, below: 0 }
      : { name: target.line, below: Math.floor(box.clientHeight / 3) };
    if (wanted === undefined) return;
    const top = topOf(box, { name: wanted.name, wrap, lines });
    if (top !== undefined) box.scrollTop = top - wanted.below;
  }
}

function topOf(
  box: HTMLElement,
  { name, wrap, lines }: {
    readonly name: string;
    readonly wrap: boolean;
    readonly lines: readonly LogText[];
  },
): number | undefined {
  if (wrap) return box.querySelector<HTMLElement>(`[data-line="${CSS.escape(name)}"]`)?.offsetTop;
  const index = lines.findIndex((line) => lineName(line) === name);
  return index === -1 ? undefined : index * LINE_PX;
}
