/**
 * Texts of strangers on the screen. They are text nodes only, and what cannot be seen is spelled out
 * (`printable.ts`); huge ones are cut, and shown whole on demand without holding up the page.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { cut, pieces, printable, slices } from "./printable.ts";

/** What a row of a list shows at most, in characters. */
const CELL_LENGTH = 300;
/** Characters within a line that are shown without being asked for. */
const LINE_LENGTH = 2000;
/** The same of a text of lines. */
const BLOCK_LENGTH = 64 * 1024;
/** A block of no more than this fits on every screen. */
const SHORT_LENGTH = 200;
const SHORT_LINES = 5;
/** Characters of a whole text that are laid out together, once they are scrolled to. */
const SLICE_LENGTH = 8 * 1024;

/** A text of a stranger within a line; line ends are spelled out, too. */
export function Text({ value, cell = false }: {
  readonly value: string;
  /** Whether it stands in a row of a list: cut short, and nothing to press. */
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

/** A text of a stranger as a block, line by line. */
export function TextBlock({ value, label }: {
  readonly value: string;
  /** What it is. */
  readonly label: string;
}) {
  const whole = useSignal(false);
  const isCut = value.length > BLOCK_LENGTH && !whole.value;
  // What may have to be scrolled has to be reached with keys.
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

/** All of a huge text: the browser lays out only the slices on the screen. */
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
