/**
 * The result of the condition for the delivery beside it, part by part.
 *
 * @module
 */

import { defined } from "../../../../src/base/defined.ts";
import { useAnswer } from "../../data/answer.ts";
import { Chip } from "../../parts/chip.tsx";
import { useSettled } from "../../data/settled.ts";
import { ConditionParts } from "../delivery/condition_parts.tsx";

/** Pause in typing after which a condition is tried. */
const STILL_MS = 350;

/** The parts of a condition for a delivery; nothing if the condition cannot be tried. */
export function OnSample({ trigger, project, delivery, condition }: {
  readonly trigger: string;
  readonly project: string;
  readonly delivery: string;
  readonly condition: string;
}) {
  const filter = useSettled(condition, STILL_MS);
  const { value } = useAnswer("trigger.test", {
    name: trigger,
    project,
    delivery,
    ...defined({ filter: filter.trim() === "" ? undefined : filter }),
  });
  if (value === undefined) return null;
  return (
    <section aria-label="The sample delivery, part by part">
      <h2>
        The delivery beside: <Chip word={value.would} />
      </h2>
      {value.parts.length > 0 && <ConditionParts parts={value.parts} />}
    </section>
  );
}
