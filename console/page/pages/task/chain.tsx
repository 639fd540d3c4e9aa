/**
 * What a task started: the tasks that repeat it, those that its steps started, and those that its end
 * started.
 *
 * @module
 */

import type { TaskRecord } from "../../../../src/api/records.ts";
import { Chip } from "../../parts/chip.tsx";
import { ShortId } from "../../parts/short_id.tsx";
import { Link } from "../../parts/link.tsx";
import { Ago } from "../../parts/time.tsx";
import { useRecords } from "../../data/records.ts";

/** Most tasks that are listed for each relation. */
const MOST = 20;

/** The tasks that are related to a task, newest first. */
export function Chain({ task }: { readonly task: TaskRecord }) {
  const retries = useRecords<TaskRecord>({ what: "tasks", retry_of: task.id, limit: MOST });
  const children = useRecords<TaskRecord>({ what: "tasks", parent: task.id, limit: MOST });
  if (retries.items.length + children.items.length === 0) return null;
  return (
    <section aria-labelledby="chain-title">
      <h2 id="chain-title">Related tasks</h2>
      <Tasks title="Retries" tasks={retries.items} all={{ retry_of: task.id }} />
      <Tasks
        title="Started by its steps"
        tasks={children.items.filter(({ root_id }) => root_id !== undefined)}
        all={{ parent: task.id }}
      />
      <Tasks
        title="Started when it ended"
        tasks={children.items.filter(({ root_id }) => root_id === undefined)}
        all={{ parent: task.id }}
      />
    </section>
  );
}

/** The other tasks of which a step went on in a session of an agent, newest first. */
export function SessionTasks({ session, task }: {
  readonly session: string;
  readonly task: TaskRecord;
}) {
  const { items } = useRecords<TaskRecord>({ what: "tasks", session, limit: MOST + 1 });
  const others = items.filter(({ id }) => id !== task.id).slice(0, MOST);
  return <Tasks title="Other tasks in its session" tasks={others} all={{ session }} />;
}

function Tasks(
  { title, tasks, all }: {
    readonly title: string;
    readonly tasks: readonly TaskRecord[];
    readonly all: Readonly<Record<string, string>>;
  },
) {
  if (tasks.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <ul class="plain">
        {tasks.map(({ id, workflow, state, created_at }) => (
          <li key={id}>
            <Chip word={state} />{" "}
            <Link to={["task", id]}>
              {workflow} <ShortId id={id} />
            </Link>{" "}
            <span class="faint">
              <Ago at={created_at} />
            </span>
          </li>
        ))}
      </ul>
      {tasks.length >= MOST && <Link to={["tasks"]} filters={all}>Show all</Link>}
    </>
  );
}
