/**
 * Screens whose code is loaded when they are first shown, so that the code of the first load stays
 * small.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { Refusal } from "../data/api.ts";
import { Problem } from "./problem.tsx";

/** A component that loads another component, and then renders that one. */
export function lazy<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): ComponentType<Props> {
  let loaded: ComponentType<Props> | undefined;
  return function Lazy(props: Props) {
    const there = useSignal(loaded !== undefined);
    const error = useSignal<Refusal | undefined>(undefined);
    useEffect(() => {
      if (there.value) return;
      load().then((component) => {
        loaded = component;
        there.value = true;
      }, () => {
        error.value = new Refusal(
          "This screen could not be loaded: svc console has ended, or another version has replaced it",
          { code: "unreachable" },
        );
      });
    }, []);
    const Loaded = loaded;
    if (there.value && Loaded !== undefined) return <Loaded {...props} />;
    return error.value === undefined ? <p class="empty">…</p> : <Problem error={error.value} />;
  };
}
