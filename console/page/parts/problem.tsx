/**
 * A refusal, shown in the place of the answer.
 *
 * @module
 */

import type { Refusal } from "../data/api.ts";

/** Shows a refusal with its reason. */
export function Problem({ error }: { readonly error: Refusal }) {
  return (
    <div class="problem" role="alert">
      <p>{error.message}</p>
      {error.details.length > 0 && <ul>{error.details.map((one) => <li key={one}>{one}</li>)}</ul>}
    </div>
  );
}
