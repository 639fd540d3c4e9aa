/**
 * Untrusted texts on the screen. They are text nodes only, with invisible characters spelled out
 * (`printable.ts`). A huge text is cut, and shown whole on demand without blocking the page.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { cut, pieces, printable, slices } from "./printable.ts";

/** Most characters of a text in a row of a list. */
const CELL_LENGTH = 300;
/** Characters of a text within a line that are shown before a click on *Show all*. */
const LINE_LENGTH = 2000;
/** Characters of a block of text that are shown before a click on *Show all*. */
const BLOCK_LENGTH = 64 * 1024;
/** A block of at most this many characters and lines fits on every screen. */
const SHORT_LENGTH = 200;
const SHORT_LINES = 5;
/** Characters of a slice: the browser lays a slice out when it is scrolled to. */
const SLICE_LENGTH = 8 * 1024;

/** An untrusted text within a line, its line ends spelled out. */
export function Text({ value, cell = false }: {
  readonly value: string;
  /** Whether the text is in a row of a list: it is cut short, without a button for the rest. */
  readonly cell?: boolean;
}) {
  const whole = useSignal(false);
  const length = cell ? CELL_LENGTH : LINE_LENGTH;
  const isCut = value.length > length && !whole.value;
  if (whole.value && value.length > BLOCK_LENGTH) return <Whole value={value} lines={false} />;
  return (
    <bdi class="text">
      <Pieces value={isCut ? cut(value, length) : value} lines={false} />
      {isCut && (cell ? "…" : <ShowAll value={value} show={() => whole.value = true} />)}
    </bdi>
  );
}

/** An untrusted text as a block, with its line ends. */
export function TextBlock({ value, label }: {
  readonly value: string;
  /** The label of the block for screen readers. */
  readonly label: string;
}) {
  const whole = useSignal(false);
  const isCut = value.length > BLOCK_LENGTH && !whole.value;
  // A block that can be scrolled must be reachable with the keyboard.
  const scrolls = value.length > SHORT_LENGTH ||
    value.split("\n", SHORT_LINES + 1).length > SHORT_LINES;
  return (
    <pre class="text" tabindex={scrolls ? 0 : undefined} role="group" aria-label={label}>
      {value.length > BLOCK_LENGTH && whole.value
        ? <Whole value={value} lines />
        : <Pieces value={isCut ? cut(value, BLOCK_LENGTH) : value} lines />}
      {isCut && <ShowAll value={value} show={() => whole.value = true} />}
    </pre>
  );
}

function Pieces({ value, lines }: { readonly value: string; readonly lines: boolean }) {
  return pieces(value, lines).map(({ text, isSpelled }, index) =>
    isSpelled
      ? (
        <span key={index} class="spelled" title="An invisible or misleading character, spelled out">
          {text}
        </span>
      )
      : text
  );
}

/** A huge text in slices: the browser lays out only the slices on the screen. */
function Whole({ value, lines }: { readonly value: string; readonly lines: boolean }) {
  return (
    <bdi class="whole">
      {slices(value, SLICE_LENGTH).map((slice, index) => (
        <span key={index} class="slice">{printable(slice, lines)}</span>
      ))}
    </bdi>
  );
}

function ShowAll({ value, show }: { readonly value: string; readonly show: () => void }) {
  return (
    <>
      {"… "}
      <button type="button" class="show-all" onClick={show}>
        Show all {value.length.toLocaleString()} characters
      </button>
    </>
  );
}
