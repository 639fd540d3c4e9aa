/**
 * A stored delivery beside the condition: a click on a value adds its name to the condition.
 *
 * @module
 */

import { useMemo } from "preact/hooks";
import { useAnswer } from "../../data/answer.ts";
import { choiceOf } from "../../data/deliveries.ts";
import type { DeliveryRecord } from "../../../../src/api/records.ts";
import { Field } from "../../parts/field.tsx";
import { JsonTree } from "../../parts/json_tree.tsx";
import { expressionOf, findJson } from "../../parts/json_value.ts";
import { Link } from "../../parts/link.tsx";
import { Problem } from "../../parts/problem.tsx";
import { whyNot } from "../../parts/rights.ts";

/** Number of deliveries to choose from. */
const CHOICES = 30;

/** The deliveries of a trigger on which a condition can be tried, newest first. */
export function useSamples(trigger: string, project: string): readonly DeliveryRecord[] {
  const { value } = useAnswer("get", { what: "deliveries", trigger, project, limit: CHOICES });
  return ((value?.items ?? []) as unknown as readonly DeliveryRecord[])
    .filter(({ outcome, via }) =>
      outcome !== "rejected" && outcome !== "handshake" && via !== "chat"
    );
}

/** A delivery of a trigger. */
export function Sample({ kept, id, choose, insert }: {
  /** The deliveries to choose from. */
  readonly kept: readonly DeliveryRecord[];
  /** Id of the shown delivery. */
  readonly id: string | undefined;
  readonly choose: (id: string) => void;
  /** Adds an expression to the condition. */
  readonly insert: (expression: string) => void;
}) {
  const reason = whyNot("operator");
  const { value: shown, error } = useAnswer(
    "delivery.show",
    id === undefined || reason !== undefined ? undefined : { id },
  );
  const body = useMemo(() => shown === undefined ? undefined : findJson(shown.body), [shown]);
  const known = kept.some((one) => one.id === id);
  return (
    <aside class="sample panel" aria-label="Sample delivery">
      <Field label="Sample delivery">
        <select value={id ?? ""} onChange={({ currentTarget }) => choose(currentTarget.value)}>
          {id === undefined && <option value="">none yet</option>}
          {id !== undefined && !known && <option value={id}>{id}</option>}
          {kept.map((one) => (
            <option key={one.id} value={one.id}>
              {choiceOf(one)}
            </option>
          ))}
        </select>
      </Field>
      {reason !== undefined && <p class="faint">{reason}.</p>}
      {error !== undefined && (error.code === "not_found"
        ? <p class="faint">{error.message}</p>
        : <Problem error={error} />)}
      {shown !== undefined && (
        <>
          <p class="faint">
            Click a value to insert its name into the condition.{" "}
            <Link to={["delivery", shown.delivery.id]}>Open this delivery</Link>
          </p>
          <h2>payload</h2>
          {body === undefined
            ? <p class="faint">The body is not JSON: open the delivery to see it.</p>
            : (
              <JsonTree
                value={body}
                label="payload"
                pick={(place) => insert(expressionOf("payload", place))}
              />
            )}
          <details>
            <summary>headers</summary>
            <JsonTree
              value={shown.headers}
              label="headers"
              pick={(place) => insert(expressionOf("headers", place))}
            />
          </details>
        </>
      )}
    </aside>
  );
}
