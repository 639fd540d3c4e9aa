/**
 * A text with a button that copies it.
 *
 * @module
 */

import { useSignal } from "@preact/signals";

/** The text and its button. */
export function Copied({ text, what }: {
  readonly text: string;
  /** What it is, as in "Copy the address". */
  readonly what: string;
}) {
  const copied = useSignal(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    copied.value = true;
    setTimeout(() => copied.value = false, 1500);
  };
  return (
    <span class="copied">
      <code>{text}</code>
      <button type="button" onClick={copy} aria-label={`Copy ${what}`}>
        {copied.value ? "Copied" : "Copy"}
      </button>
    </span>
  );
}
