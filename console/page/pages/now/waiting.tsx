/**
 * The tasks that wait in their midst, for an event, a time, a person or an agent, and hold no worker.
 *
 * @module
 */

import type { TaskRecord } from "../../../../src/api/records.ts";
import { useRecords } from "../../data/records.ts";
import { Link } from "../../parts/link.tsx";
import { Text } from "../../parts/text.tsx";
import { Ago } from "../../parts/time.tsx";

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
        {items.slice(0, SHOWN).map(({ id, workflow, reason, created_at }) => (
          <li key={id}>
            <span class="what">
              <Link to={["task", id]}>
                <Text value={workflow} cell />
              </Link>
            </span>
            <span class="why">
              <Text value={reason} cell />
            </span>
            <span class="times" />
            <span class="faint when">
              <Ago at={created_at} bare />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
