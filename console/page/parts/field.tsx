/**
 * A label and what is entered below it, the same in every form.
 *
 * @module
 */

import type { ComponentChildren } from "preact";

/** A field; `children` is its one control. */
export function Field({ label, children, hint }: {
  readonly label: string;
  readonly children: ComponentChildren;
  /** What is worth knowing beforehand. */
  readonly hint?: ComponentChildren;
}) {
  return (
    <label class="field">
      <span class="label">{label}</span>
      {children}
      {hint !== undefined && <span class="hint">{hint}</span>}
    </label>
  );
}
