/**
 * The tasks that deliveries started, as cells of the list of deliveries.
 *
 * @module
 */

import { defined } from "../../../../src/base/defined.ts";
import type { DeliveryRecord, TaskRecord } from "../../../../src/api/records.ts";
import { call } from "../../data/api.ts";
import { lookup, useLookup } from "../../data/lookups.ts";
import { useRecords } from "../../data/records.ts";
import { Chip } from "../../parts/chip.tsx";
import { Link } from "../../parts/link.tsx";
import { ShortId } from "../../parts/short_id.tsx";
import { Text } from "../../parts/text.tsx";

/** The newest tasks by id, kept up to date. */
export type TasksById = ReadonlyMap<string, TaskRecord>;

/**
 * Tasks by id, of the triggers in a list of deliveries. They are read after the list, so that its
 * rows do not wait for them.
 */
export function useNewestTasks(
  { trigger, project }: Readonly<Record<string, string | number>>,
  isThere: boolean,
): TasksById {
  const of = defined({ trigger: trigger?.toString(), project: project?.toString() });
  const { items } = useRecords<TaskRecord>(isThere ? { what: "tasks", ...of } : undefined);
  return new Map(items.map((task) => [task.id, task]));
}

/**
 * Lookup of tasks that are not among the newest; an ended task no longer changes, so its answer is
 * kept.
 */
const older = lookup(async (id, signal) => {
  const task = await call("task", { id }, signal) as unknown as TaskRecord;
  return task.finished_at === null ? undefined : task;
});

function useTask(id: string | undefined, newest: TasksById): TaskRecord | undefined {
  const known = id === undefined ? undefined : newest.get(id);
  const found = useLookup(known === undefined ? id : undefined, older);
  return known ?? found;
}

/** Ids of the tasks of a delivery. */
function tasksOf({ task_id, events = [] }: DeliveryRecord): readonly string[] {
  const all = [task_id, ...events.map((event) => event.task_id)];
  return [...new Set(all.filter((id) => id !== null))];
}

/** The state of a delivery's task, or the number of its tasks. */
export function TaskCell({ delivery, newest }: {
  readonly delivery: DeliveryRecord;
  readonly newest: TasksById;
}) {
  const [id, ...others] = tasksOf(delivery);
  const task = useTask(others.length === 0 ? id : undefined, newest);
  if (id === undefined) return null;
  if (others.length > 0) {
    return (
      <Link to={["tasks"]} filters={{ delivery: delivery.id }}>{1 + others.length} tasks</Link>
    );
  }
  return (
    <Link to={["task", id]} class="chip-link">
      {task === undefined ? <ShortId id={id} /> : <Chip word={task.state} />}
    </Link>
  );
}

/** The reason of a delivery, else the reason of its task. */
export function WhyCell({ delivery, newest }: {
  readonly delivery: DeliveryRecord;
  readonly newest: TasksById;
}) {
  const [id, ...others] = tasksOf(delivery);
  const task = useTask(delivery.reason === "" && others.length === 0 ? id : undefined, newest);
  return <Text value={delivery.reason || (task?.reason ?? "")} cell />;
}
