/**
 * A label with its control, the same in every form.
 *
 * @module
 */

import type { ComponentChildren } from "preact";

/** A field; `children` is its only control. */
export function Field({ label, children }: {
  readonly label: string;
  readonly children: ComponentChildren;
}) {
  return (
    <label class="field">
      <span>{label}</span>
      {children}
    </label>
  );
}
