/**
 * Keys of the page. A screen says which it has while it is shown; `?` lists them.
 *
 * @module
 */

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

/** One key. */
export interface Key {
  /** As `KeyboardEvent.key` names it. */
  readonly key: string;
  /** What it does, for the list. */
  readonly help: string;
  readonly act: () => void;
}

const shown = signal<readonly (readonly Key[])[]>([]);

/** Every key that works now, the newest first. */
export function currentKeys(): readonly Key[] {
  return shown.value.flat();
}

/** Has keys while the component is shown. */
export function useKeys(keys: readonly Key[]): void {
  useEffect(() => {
    shown.value = [keys, ...shown.peek()];
    return () => {
      shown.value = shown.peek().filter((one) => one !== keys);
    };
  }, keys.map(({ act }) => act));
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
