/**
 * Copies a text.
 *
 * @module
 */

import { useSignal } from "@preact/signals";

/** How long a button says what came of it. */
const SAID_MS = 1500;

/** The button; it says when it is done, and when the browser did not let it. */
export function CopyButton({ text, what }: {
  readonly text: string;
  /** What it is, as in "Copy the address". */
  readonly what: string;
}) {
  const said = useSignal("Copy");
  const copy = async () => {
    said.value = await navigator.clipboard.writeText(text).then(
      () => "Copied",
      () => "Not copied",
    );
    setTimeout(() => said.value = "Copy", SAID_MS);
  };
  return (
    <button type="button" class="small" onClick={copy} aria-label={`${said.value} ${what}`}>
      {said.value}
    </button>
  );
}
