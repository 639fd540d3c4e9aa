/**
 * A refusal, where the answer would stand.
 *
 * @module
 */

import type { Refusal } from "../data/api.ts";

/** What was refused and why. */
export function Problem({ error }: { readonly error: Refusal }) {
  return (
    <div class="problem" role="alert">
      <p>{error.message}</p>
      {error.details.length > 0 && <ul>{error.details.map((one) => <li key={one}>{one}</li>)}</ul>}
    </div>
  );
}
