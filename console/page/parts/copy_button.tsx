/**
 * A button that copies a text.
 *
 * @module
 */

import { useSignal } from "@preact/signals";

/** How long the button shows the result. */
const SAID_MS = 1500;

/** A button that copies a text, and says whether the browser let it. */
export function CopyButton({ text, what }: {
  readonly text: string;
  /** The name of the copied text, as in "Copy the address". */
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
