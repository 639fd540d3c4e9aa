/**
 * A link to a screen. Only a plain click is handled here, so that a middle click or Ctrl opens a
 * tab as usual.
 *
 * @module
 */

import type { ComponentChildren } from "preact";
import { go, href } from "../route.ts";

/** A link to the screen whose path has these parts. */
export function Link(
  { to, filters, children, current, class: name }: {
    readonly to: readonly string[];
    readonly filters?: Readonly<Record<string, string>>;
    readonly children: ComponentChildren;
    /** Whether the link leads to the current screen. */
    readonly current?: boolean;
    readonly class?: string;
  },
) {
  const address = href(to, filters);
  const follow = (event: MouseEvent) => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go(address);
  };
  return (
    <a href={address} onClick={follow} class={name} aria-current={current ? "page" : undefined}>
      {children}
    </a>
  );
}
