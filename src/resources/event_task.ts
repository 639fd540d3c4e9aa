/**
 * The block `spec.event.task`: the tasks whose end fires a trigger.
 *
 * @module
 */

import Type from "typebox";
import type { EventDefinition } from "./event.ts";
import type { Metadata } from "./metadata.ts";
import { NAME_PATTERN } from "./names.ts";
import { errorAt } from "./resource.ts";

const TaskEventSpec = Type.Object({
  workflow: Type.Optional(
    Type.String({
      pattern: NAME_PATTERN,
      title: "the name of a workflow (leave it out to mean any)",
    }),
  ),
  labels: Type.Optional(
    Type.Record(Type.String(), Type.String(), {
      title: "labels with their values",
      minProperties: 1,
    }),
  ),
  states: Type.Optional(
    Type.Array(Type.Enum(["succeeded", "failed", "cancelled"]), { minItems: 1 }),
  ),
}, { additionalProperties: false });

/** `spec.event.task` as written by the user. */
export type TaskEventSpec = Type.Static<typeof TaskEventSpec>;

/** The states that fire a trigger that names none. */
export const DEFAULT_STATES: readonly string[] = ["succeeded", "failed", "cancelled"];

/** A task whose end may fire a trigger. */
export interface EndedTask {
  readonly workflow: string;
  /** Labels of its workflow and of its trigger, as far as those exist. */
  readonly labels: readonly (Metadata["labels"] | undefined)[];
}

/**
 * Whether the block selects this task; `own` is the workflow that the trigger itself starts. Tasks of
 * `own` count only if the block names it, so that a trigger on any workflow does not start itself.
 */
export function meansTask(
  { workflow, labels = {} }: TaskEventSpec,
  own: string,
  task: EndedTask,
): boolean {
  const named = workflow === undefined ? task.workflow !== own : task.workflow === workflow;
  return named &&
    Object.entries(labels).every(([name, value]) =>
      task.labels.some((given) =>
        given !== undefined && Object.hasOwn(given, name) &&
        given[name] === value
      )
    );
}

const AT = ["spec", "event", "task"];

/** The manifest side of the source `task`. */
export const taskEvent: EventDefinition = {
  source: "task",
  schema: TaskEventSpec,
  check: (block) =>
    block === undefined
      ? [errorAt(AT, 'Source "task" needs the block "task", such as "task: {states: [failed]}"')]
      : [],
  references: (block) => {
    const { workflow } = (block ?? {}) as Partial<TaskEventSpec>;
    if (workflow === undefined) return [];
    const consequence = "nothing fires this trigger until it is applied";
    return [{ kind: "Workflow", name: workflow, path: [...AT, "workflow"], consequence }];
  },
};
