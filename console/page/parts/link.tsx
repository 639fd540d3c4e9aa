/**
 * A link to a screen. It stays a link: only a plain click is taken over, so that a middle click or
 * ctrl opens a tab as everywhere.
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
    /** Whether it is the screen that is shown. */
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
