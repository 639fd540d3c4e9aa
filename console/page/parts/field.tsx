/**
 * A label and what is entered below it, the same in every form.
 *
 * @module
 */

import type { ComponentChildren } from "preact";

/** A field; `children` is its one control. */
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
