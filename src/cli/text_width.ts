/**
 * Measures texts in columns of a terminal: the only door to `string-width`. Its patterns for emoji
 * and the segmenter of `Intl` take 30 ms of processor time to make, which is as much as all else
 * that a list does; so they are made only for texts that need them.
 *
 * @module
 */

import { isLatin } from "../base/control_characters.ts";

/** How texts of one script or another are measured. */
export interface TextWidth {
  /** The columns that a printable text takes. */
  readonly of: (text: string) => number;
  /** The characters of a text as people see them, which are not to be cut apart. */
  readonly characters: (text: string) => Iterable<string>;
}

const LATIN_WIDTH: TextWidth = { of: (text) => text.length, characters: (text) => text };

/** How to measure these printable texts and parts of them. */
export async function textWidthFor(texts: readonly string[]): Promise<TextWidth> {
  if (texts.every((text) => isLatin(text))) return LATIN_WIDTH;
  const { default: of } = await import("string-width");
  const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });
  return {
    of,
    characters: (text) => Iterator.from(graphemes.segment(text)).map(({ segment }) => segment),
  };
}
