/**
 * A button that keeps the focus while it is switched off, and says why it is.
 *
 * @module
 */

import type { ComponentChildren } from "preact";

/** A button; `why` or `busy` switch it off without taking the focus. */
export function Button({ children, act, why, busy = false, primary = false }: {
  readonly children: ComponentChildren;
  /** Runs on a click; without it, the button submits its form. */
  readonly act?: () => void;
  /** The reason why the button is switched off. */
  readonly why?: string | undefined;
  /** Whether the button is switched off until a call has ended. */
  readonly busy?: boolean;
  /** Whether the button is the likeliest next action. */
  readonly primary?: boolean;
}) {
  const isOff = why !== undefined || busy;
  return (
    <button
      type={act === undefined ? "submit" : "button"}
      // Not `disabled`, which would drop the focus and hide the reason from screen readers.
      aria-disabled={isOff ? "true" : undefined}
      title={why}
      class={primary && why === undefined ? "primary" : undefined}
      onClick={(event) => {
        if (isOff) event.preventDefault();
        else act?.();
      }}
    >
      {children}
    </button>
  );
}
