/**
 * The `svc` command for a screen or an action, ready to copy. Its arguments are ids and names,
 * never text of a payload.
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
