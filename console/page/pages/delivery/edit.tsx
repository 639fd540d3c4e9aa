/**
 * Sends an edited copy of a delivery's payload through its trigger.
 *
 * @module
 */

import type { ShownDelivery } from "../../../../src/api/delivery_operations.ts";
import { useDescribed } from "../../data/resources.ts";
import type { Trigger } from "../../data/triggers.ts";
import { editable } from "../../parts/payload.tsx";
import { Problem } from "../../parts/problem.tsx";
import { setQuery } from "../../route.ts";
import { TryForm } from "../trigger/try_form.tsx";

/** The form with the payload and the headers of a stored delivery. */
export function Edit({ shown }: { readonly shown: ShownDelivery }) {
  const { delivery: { project, trigger: name } } = shown;
  const { value: trigger, error } = useDescribed<Trigger>({ what: "trigger", project, name });
  return (
    <section class="panel" aria-label="Edit and try">
      <div class="title-row">
        <h2>Edit and try</h2>
        <button type="button" class="small" onClick={() => setQuery({ edit: "" })}>Close</button>
      </div>
      {error !== undefined && <Problem error={error} />}
      {editable(shown) === undefined
        ? <p class="faint">The body is too large to edit here, or is not text.</p>
        : trigger !== undefined && <TryForm trigger={trigger} from={shown} />}
    </section>
  );
}
