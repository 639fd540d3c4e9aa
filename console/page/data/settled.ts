/**
 * A value that is typed, once it has not changed for a while.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

/** The last value that stood for `ms`; the first one at once. */
export function useSettled<Value>(value: Value, ms: number): Value {
  const settled = useSignal(value);
  useEffect(() => {
    const timer = setTimeout(() => settled.value = value, ms);
    return () => clearTimeout(timer);
  }, [value]);
  return settled.value;
}
