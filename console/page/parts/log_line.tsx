/**
 * The text of one line of output.
 *
 * @module
 */

import { printable } from "./printable.ts";
import { piecesOf } from "./log_pieces.ts";

/** A line of output: colours, and what is searched for marked. */
export function LineText(
  { text, searched, cut = 0 }: {
    readonly text: string;
    readonly searched?: string;
    /** Bytes that the daemon has left out. */
    readonly cut?: number | undefined;
  },
) {
  const { pieces, rest } = piecesOf(text, searched);
  return (
    <bdi>
      {pieces.map(({ text, class: look, found }, index) => {
        const shown = printable(text, true);
        if (found) return <mark key={index} class={look}>{shown}</mark>;
        return look === "" ? shown : <span key={index} class={look}>{shown}</span>;
      })}
      {rest + cut > 0 && <span class="faint">… {rest + cut} more, in the download</span>}
    </bdi>
  );
}
