/**
 * The answer of one call, for a screen that does not change while it is shown.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { CallName, Input, Output } from "../../../src/api/operations.ts";
import { call, Refusal } from "./api.ts";

/** The state of a call. */
export interface Answer<Value> {
  /** The previous call's answer until the current call is answered; `undefined` without a call. */
  readonly value: Value | undefined;
  readonly error: Refusal | undefined;
  readonly loading: boolean;
}

/**
 * Calls an operation when the component is first shown, and again when `input` (by value) or
 * `again` changes. While `input` is `undefined`, it calls nothing.
 */
export function useAnswer<Name extends CallName>(
  name: Name,
  input: Input<Name> | undefined,
  again: unknown = undefined,
): Answer<Output<Name>> {
  const value = useSignal<Output<Name> | undefined>(undefined);
  const error = useSignal<Refusal | undefined>(undefined);
  const loading = useSignal(input !== undefined);
  useEffect(() => {
    if (input === undefined) {
      [value.value, error.value, loading.value] = [undefined, undefined, false];
      return;
    }
    const own = new AbortController();
    loading.value = true;
    call(name, input, own.signal).then((found) => {
      if (own.signal.aborted) return;
      [value.value, error.value, loading.value] = [found, undefined, false];
    }, (thrown) => {
      if (own.signal.aborted) return;
      [value.value, error.value, loading.value] = [undefined, toRefusal(thrown), false];
    });
    return () => own.abort();
  }, [JSON.stringify(input), again]);
  return { value: value.value, error: error.value, loading: loading.value };
}

/** Turns a thrown value into a refusal. */
export function toRefusal(thrown: unknown): Refusal {
  return thrown instanceof Refusal ? thrown : new Refusal(String(thrown), { code: "internal" });
}
