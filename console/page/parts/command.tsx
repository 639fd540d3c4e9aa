/**
 * The command that does the same as what is on the screen, ready to copy. It quotes ids and names
 * only, never text of a payload.
 *
 * @module
 */

import { CopyButton } from "./copy_button.tsx";

/** A command line with a button that copies it. */
export function Command({ line }: { readonly line: string }) {
  return (
    <div class="command">
      <code>{line}</code>
      <CopyButton text={line} what={`the command: ${line}`} />
    </div>
  );
}
