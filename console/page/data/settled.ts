/**
 * A typed value, once it has not changed for a while.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

/** The last value that stayed the same for `ms`; the first value counts at once. */
export function useSettled<Value>(value: Value, ms: number): Value {
  const settled = useSignal(value);
  useEffect(() => {
    const timer = setTimeout(() => settled.value = value, ms);
    return () => clearTimeout(timer);
  }, [value]);
  return settled.value;
}
