/**
 * The block `spec.event.task`: the tasks whose end fires a trigger.
 *
 * @module
 */

import Type from "typebox";
import type { EventDefinition } from "./event.ts";
import { errorAt, Name } from "./resource.ts";

/** Schema of the block. */
const TaskEventSpec = Type.Object({
  workflow: Name,
  states: Type.Optional(
    Type.Array(Type.Enum(["succeeded", "failed", "cancelled"]), { minItems: 1 }),
  ),
}, { additionalProperties: false });

/** `spec.event.task` as written by the user. */
export type TaskEventSpec = Type.Static<typeof TaskEventSpec>;

/** Default states. */
export const DEFAULT_STATES: readonly string[] = ["succeeded", "failed", "cancelled"];

const AT = ["spec", "event", "task"];

/** The manifest side of the source `task`. */
export const taskEvent: EventDefinition = {
  source: "task",
  schema: TaskEventSpec,
  check: (block) =>
    block === undefined
      ? [errorAt(AT, 'Source "task" needs the block "task" with the workflow it follows')]
      : [],
  references: (block) => {
    const { workflow } = (block ?? {}) as Partial<TaskEventSpec>;
    if (workflow === undefined) return [];
    const consequence = "nothing fires this trigger until it is applied";
    return [{ kind: "Workflow", name: workflow, path: [...AT, "workflow"], consequence }];
  },
};
