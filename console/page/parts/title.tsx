/**
 * The head of a screen about a record or a resource: a link to its list, its state in a sentence,
 * and the facts that identify it.
 *
 * @module
 */

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { Link } from "./link.tsx";
import { printable } from "./printable.ts";
import { Text } from "./text.tsx";

/** The title of the tab, set by the current screen; empty if the screen sets none. */
export const tabTitle = signal("");

/** The heading of a screen, which also sets the title of the tab. */
export function Title({ text, back, children }: {
  /** A sentence without its full stop. */
  readonly text: string;
  /** The list to link to: the first part of its address, and its name. */
  readonly back: readonly [list: string, label: string];
  /** Facts below the title, such as the chip, the id and the times. */
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
