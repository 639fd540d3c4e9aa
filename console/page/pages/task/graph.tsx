/**
 * The steps of a task as a graph. Each step is a button, and Tab goes through them in the order of
 * the plan. Screen readers skip the lines between the steps, because the label of a step names the
 * steps that it needs.
 *
 * @module
 */

import { useComputed, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Chip } from "../../parts/chip.tsx";
import { narrow } from "../../parts/narrow.ts";
import { now } from "../../parts/time.tsx";
import type { Layout, Shape } from "./layout.ts";
import { lengthOf, nameOf, roundOf, type Step } from "./steps.ts";

/** The steps to draw, and the picked one. */
export interface StepsView {
  readonly steps: readonly Step[];
  /** Id of the step whose details are shown. */
  readonly picked: string;
  readonly pick: (id: string) => void;
}

/** Draws steps as buttons, with lines from each step to those that need it. */
export function Graph({ steps, picked, pick }: StepsView) {
  const layout = useLayout({
    steps: steps.map(({ id, needs }) => ({ id, needs })),
    direction: narrow.value ? "TB" : "LR", // from top to bottom in a narrow window
  });
  if (layout === undefined) return <p class="empty">Drawing…</p>;
  const states = new Map(steps.map(({ id, state }) => [id, state]));
  return (
    <div class="graph scroll-x">
      <div class="drawing" style={`width:${layout.width}px;height:${layout.height}px`}>
        <svg width={layout.width} height={layout.height} aria-hidden="true">
          {layout.lines.map(({ from, to, path }) => (
            <path key={`${from} ${to}`} d={path} class={states.get(from) ?? ""} />
          ))}
        </svg>
        <ol aria-label="Steps in order">
          {steps.map((step) => {
            const { x = 0, y = 0 } = layout.steps.get(step.id) ?? {};
            return (
              <li key={step.id} style={`left:${x}px;top:${y}px`}>
                <StepBox step={step} picked={picked === step.id} pick={pick} />
              </li>
            );
          })}
        </ol>
      </div>
    </div>
  );
}

function StepBox(
  { step, picked, pick }: {
    readonly step: Step;
    readonly picked: boolean;
    readonly pick: (id: string) => void;
  },
) {
  const { id, state, record, plan } = step;
  const tried = record !== undefined && record.attempt > 1 ? `attempt ${record.attempt}` : "";
  return (
    <button
      type="button"
      class={`step ${state}`}
      aria-pressed={picked}
      aria-label={nameOf(step, now.value)}
      title={id}
      onClick={() => pick(id)}
    >
      <span class="id">{id}</span>
      <span class="about">
        <Chip word={state} /> <span class="faint">{lengthOf(record, now.value)}</span>{" "}
        <span class="faint">
          {tried || roundOf(step) || (plan?.kind === "agent" ? plan.agent : "")}
        </span>
      </span>
    </button>
  );
}

/** The layout of a graph, worked out again only if the graph changes. */
function useLayout(shape: Shape): Layout | undefined {
  const key = JSON.stringify(shape);
  const made = useSignal<{ readonly key: string; readonly layout: Layout } | undefined>(undefined);
  useEffect(() => {
    let wanted = true;
    void import("./layout.ts").then(({ layOut }) => {
      if (wanted) made.value = { key, layout: layOut(shape) };
    });
    return () => {
      wanted = false;
    };
  }, [key]);
  return useComputed(() => made.value?.layout).value;
}
