/**
 * Keys of the page. A screen registers its keys while it is shown; `?` lists them.
 *
 * @module
 */

import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

/** A key, with its action and the text that the list of keys shows. */
export interface Key {
  /** The name that `KeyboardEvent.key` has for the key. */
  readonly key: string;
  /** The action of the key, as the list of keys describes it. */
  readonly help: string;
  readonly act: () => void;
}

/** The registered keys, a list for each component, the newest component first. */
const registered = signal<readonly { readonly current: readonly Key[] }[]>([]);

/** Every key that works now; the keys of the newest component come first. */
export function currentKeys(): readonly Key[] {
  return registered.value.flatMap(({ current }) => current);
}

/** Registers keys while the component is shown. */
export function useKeys(keys: readonly Key[]): void {
  const newest = useRef(keys);
  newest.current = keys;
  // A layout effect, so that the keys work as soon as the component is painted. It runs once: if
  // each render registered the keys again, every new row would render the list of keys.
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
