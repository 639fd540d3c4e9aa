/**
 * Keys of the page. A screen registers its keys while it is shown; `?` lists them.
 *
 * @module
 */

import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

/** One key. */
export interface Key {
  /** As `KeyboardEvent.key` names it. */
  readonly key: string;
  /** What it does, for the list. */
  readonly help: string;
  readonly act: () => void;
}

/** The keys of each component that has some, the newest component first. */
const registered = signal<readonly { readonly current: readonly Key[] }[]>([]);

/** Every key that works now, those of the newest component first. */
export function currentKeys(): readonly Key[] {
  return registered.value.flatMap(({ current }) => current);
}

/** Registers keys while the component is shown. */
export function useKeys(keys: readonly Key[]): void {
  const newest = useRef(keys);
  newest.current = keys;
  // Before the first paint: what can be seen can be pressed. And once: to register with every render
  // would render the list of keys with every row that arrives.
  useLayoutEffect(() => {
    registered.value = [newest, ...registered.peek()];
    return () => {
      registered.value = registered.peek().filter((one) => one !== newest);
    };
  }, []);
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  if (document.querySelector("dialog[open]") !== null) return;
  const found = currentKeys().find(({ key }) => key === event.key);
  if (found === undefined) return;
  event.preventDefault();
  found.act();
});

function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element &&
    target.closest("input, textarea, select, [contenteditable]") !== null;
}
