/**
 * A payload to write, or to copy from a stored delivery.
 *
 * @module
 */

import { type Signal, useSignal } from "@preact/signals";
import type { ShownDelivery } from "../../../src/api/delivery_operations.ts";
import { toRefusal } from "../data/answer.ts";
import { call, Refusal } from "../data/api.ts";
import { Field } from "./field.tsx";
import { prettyJson } from "./json_value.ts";
import { Problem } from "./problem.tsx";
import { whyNot } from "./rights.ts";

/** The fault of a text as a payload; `undefined` if it is a JSON object. */
export function payloadFault(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? undefined : "A payload must be one JSON object";
  } catch (error) {
    return `Not valid JSON yet: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** The body of a delivery as text to edit; `undefined` if it cannot be edited. */
export function editable({ body, body_encoding, truncated }: ShownDelivery): string | undefined {
  return body_encoding !== "text" || truncated ? undefined : prettyJson(body);
}

/** The field for a payload. `delivery` has a payload to copy; `take` is called with it. */
export function PayloadField({ value, label, delivery, take: taken }: {
  readonly value: Signal<string>;
  readonly label: string;
  readonly delivery: string | undefined;
  readonly take: (shown: ShownDelivery) => void;
}) {
  const error = useSignal<Refusal | undefined>(undefined);
  const take = async () => {
    if (delivery === undefined) return;
    error.value = undefined;
    try {
      const shown = await call("delivery.show", { id: delivery });
      const text = editable(shown);
      if (text === undefined) {
        throw new Refusal("The body is too large to edit here, or is not text", {
          code: "invalid",
        });
      }
      value.value = text;
      taken(shown);
    } catch (thrown) {
      error.value = toRefusal(thrown);
    }
  };
  return (
    <>
      <Field label={label}>
        <textarea
          rows={10}
          spellcheck={false}
          value={value.value}
          onInput={({ currentTarget }) => value.value = currentTarget.value}
        />
      </Field>
      {delivery !== undefined && whyNot("operator") === undefined && (
        <button type="button" onClick={take}>Use the last delivery's payload</button>
      )}
      {error.value !== undefined && <Problem error={error.value} />}
    </>
  );
}
