/**
 * The head of a screen about one thing: a link to its list, its state in a sentence, and the facts
 * that identify it.
 *
 * @module
 */

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { Link } from "./link.tsx";
import { printable } from "./printable.ts";
import { Text } from "./text.tsx";

/** What the tab is called while a screen says it; else empty. */
export const tabTitle = signal("");

/** The head. */
export function Title({ text, back, children }: {
  /** A sentence without its stop. */
  readonly text: string;
  /** The list that it belongs to: the first part of its address, and its name. */
  readonly back: readonly [list: string, label: string];
  /** Chip, id, times. */
  readonly children?: ComponentChildren;
}) {
  useEffect(() => {
    tabTitle.value = printable(text);
    return () => {
      tabTitle.value = "";
    };
  }, [text]);
  return (
    <div class="headline">
      <p class="crumb">
        <Link to={[back[0]]}>{back[1]}</Link>
      </p>
      <h1>
        <Text value={text} cell />
      </h1>
      {children !== undefined && <div class="about">{children}</div>}
    </div>
  );
}
