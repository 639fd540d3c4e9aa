/**
 * A payload to write, or to take from a delivery that has arrived.
 *
 * @module
 */

import { type Signal, useSignal } from "@preact/signals";
import { toRefusal } from "../data/answer.ts";
import { call, Refusal } from "../data/api.ts";
import { Problem } from "./problem.tsx";
import { whyNot } from "./rights.ts";

/** What is wrong with a text as a payload; `undefined` where it is one JSON object. */
export function payloadFault(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? undefined : "A payload is one JSON object";
  } catch (error) {
    return `It is no JSON yet: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** The field; `delivery` is where a payload can be taken from. */
export function PayloadField({ value, label, delivery }: {
  readonly value: Signal<string>;
  readonly label: string;
  readonly delivery: string | undefined;
}) {
  const error = useSignal<Refusal | undefined>(undefined);
  const take = async () => {
    if (delivery === undefined) return;
    error.value = undefined;
    try {
      const { body, body_encoding, truncated } = await call("delivery.show", { id: delivery });
      if (body_encoding !== "text" || truncated) {
        throw new Refusal("Its body is too large to edit here, or no text", { code: "invalid" });
      }
      value.value = pretty(body);
    } catch (thrown) {
      error.value = toRefusal(thrown);
    }
  };
  return (
    <>
      <label class="field">
        {label}
        <textarea
          rows={8}
          spellcheck={false}
          value={value.value}
          onInput={({ currentTarget }) => value.value = currentTarget.value}
        />
      </label>
      {delivery !== undefined && whyNot("operator") === undefined && (
        <button type="button" onClick={take}>Take that of the last delivery</button>
      )}
      {error.value !== undefined && <Problem error={error.value} />}
    </>
  );
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
