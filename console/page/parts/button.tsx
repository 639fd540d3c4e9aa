/**
 * A button that may have to wait, or cannot be pressed now: it says why and keeps the focus.
 *
 * @module
 */

import type { ComponentChildren } from "preact";

/** The button. */
export function Button({ children, act, why, busy = false, primary = false }: {
  readonly children: ComponentChildren;
  /** What it does; submits its form when absent. */
  readonly act?: () => void;
  /** Why it cannot be pressed. */
  readonly why?: string | undefined;
  /** Whether it cannot be pressed for a moment. */
  readonly busy?: boolean;
  /** Whether it is what one would do next. */
  readonly primary?: boolean;
}) {
  const isOff = why !== undefined || busy;
  return (
    <button
      type={act === undefined ? "submit" : "button"}
      // Not `disabled`: the focus would be lost with it, and who cannot see it would not hear why.
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
