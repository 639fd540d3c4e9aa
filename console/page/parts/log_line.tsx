/**
 * The text of a line of output.
 *
 * @module
 */

import { printable } from "./printable.ts";
import { piecesOf } from "./log_pieces.ts";

/** A line of output with its colours, and with the matches of a search marked. */
export function LineText(
  { text, searched, cut = 0 }: {
    readonly text: string;
    readonly searched?: string;
    /** Bytes of the line that the daemon left out. */
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
