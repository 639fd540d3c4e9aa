/**
 * Fires a trigger by hand, with a payload, and leads to the task.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import type { DeliveryRecord } from "../../../../src/api/records.ts";
import type { Fired } from "../../../../src/api/trigger_operations.ts";
import { call } from "../../data/api.ts";
import { Action } from "../../parts/action.tsx";
import { Badge } from "../../parts/badge.tsx";
import { Link } from "../../parts/link.tsx";
import { payloadFault, PayloadField } from "../../parts/payload.tsx";
import { Text } from "../../parts/text.tsx";
import { go, href } from "../../route.ts";
import { named, type Trigger } from "../../data/triggers.ts";

/** The form. */
export function FireForm(
  { trigger, last }: { readonly trigger: Trigger; readonly last: DeliveryRecord | undefined },
) {
  const { metadata: { project = "", name }, spec: { action } } = trigger;
  const payload = useSignal("{}");
  const fired = useSignal<Fired | undefined>(undefined);
  const act = async () => {
    const result = await call("trigger.fire", { name, project, payload: payload.value });
    fired.value = result;
    if (result.task_id === null) return "";
    go(href(["task", result.task_id]));
    return "It was fired";
  };
  return (
    <section class="panel" aria-label="Fire it">
      <h2>Fire it</h2>
      <p class="faint">
        As if its event had arrived, without a signature: filter, suspension and limits apply.
      </p>
      <PayloadField value={payload} label="Payload" delivery={last?.id} />
      <p>
        <Action
          label="Fire"
          question={`An event of ${name} that passes starts one task of ${action.workflow}.`}
          command={`svc trigger fire ${named(trigger)} -f payload.json`}
          act={act}
          why={payloadFault(payload.value)}
        />
      </p>
      {fired.value !== undefined && fired.value.task_id === null && (
        <p role="status">
          <Badge word={fired.value.outcome} /> <Text value={fired.value.reason} cell />{" "}
          <Link to={["delivery", fired.value.delivery_id]}>Its delivery</Link>
        </p>
      )}
    </section>
  );
}
