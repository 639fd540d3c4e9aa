/**
 * The tasks that wait in their midst, for an event, a time, a person or an agent, and hold no worker.
 *
 * @module
 */

import type { TaskRecord } from "../../../../src/api/records.ts";
import { useRecords } from "../../data/records.ts";
import { Link } from "../../parts/link.tsx";
import { Line } from "./troubles.tsx";

/** Tasks that are shown: the others are listed. */
const SHOWN = 5;

/** The newest tasks that wait; nothing if none does. */
export function Waiting() {
  const { items, more } = useRecords<TaskRecord>({ what: "tasks", state: "waiting" });
  if (items.length === 0) return null;
  return (
    <section class="troubles" aria-label="Waiting">
      <div class="title-row">
        <h2>
          Waiting
          <span class="count">{`${items.length}${more === undefined ? "" : "+"}`}</span>
        </h2>
        <Link to={["tasks"]} filters={{ state: "waiting" }}>Show all</Link>
      </div>
      <ul>
        {items.slice(0, SHOWN).map(({ id, workflow, reason, created_at }) => {
          const latest = { what: workflow, of: "", why: reason, to: ["task", id], at: created_at };
          return <Line key={id} trouble={{ latest: { ...latest, key: id }, count: 1 }} />;
        })}
      </ul>
    </section>
  );
}
