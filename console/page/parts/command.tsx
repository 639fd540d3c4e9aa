/**
 * The command that does the same as what is on the screen, ready to copy. It quotes ids and names
 * only, never text of a payload.
 *
 * @module
 */

import { useSignal } from "@preact/signals";

/** A command line with a button that copies it. */
export function Command({ line }: { readonly line: string }) {
  const copied = useSignal(false);
  const copy = async () => {
    await navigator.clipboard.writeText(line);
    copied.value = true;
    setTimeout(() => copied.value = false, 1500);
  };
  return (
    <div class="command">
      <code>{line}</code>
      <button type="button" onClick={copy} aria-label={`Copy the command: ${line}`}>
        {copied.value ? "Copied" : "Copy"}
      </button>
    </div>
  );
}
