/**
 * Threads of chat platforms, each with its task.
 *
 * @module
 */

import type { BindingRecord, SourceEventRecord } from "../../../src/api/records.ts";
import { Chip } from "../parts/chip.tsx";
import { type FilterField, filtersOf, TIME_RANGE } from "../parts/filters.tsx";
import { Link } from "../parts/link.tsx";
import { List } from "../parts/list.tsx";
import { ShortId } from "../parts/short_id.tsx";
import type { Column } from "../parts/table.tsx";
import { Text } from "../parts/text.tsx";
import { Ago } from "../parts/time.tsx";
import { useRecords } from "../data/records.ts";
import { href } from "../route.ts";
import { type Thread, threadsOf } from "../data/threads.ts";

const FIELDS: readonly FilterField[] = [
  { name: "trigger", label: "Trigger" },
  {
    name: "state",
    label: "State",
    choices: ["needs_attention", "failed", "ignored", "routed", "received"],
  },
  TIME_RANGE,
];

const COLUMNS: readonly Column<Thread>[] = [
  {
    header: "Newest",
    whole: true,
    narrow: "time",
    cell: ({ newest }) => <Ago at={newest.received_at} bare />,
  },
  { header: "State", whole: true, narrow: "lead", cell: ({ state }) => <Chip word={state} /> },
  {
    header: "Channel",
    narrow: "title",
    cell: ({ newest }) => <Text value={newest.conversation_id} cell />,
  },
  { header: "Events", whole: true, number: true, cell: ({ events }) => events.length },
  {
    header: "Task",
    whole: true,
    cell: ({ task }) =>
      task === null ? <span class="faint">—</span> : (
        <Link to={["task", task]}>
          <ShortId id={task} />
        </Link>
      ),
  },
  {
    header: "First message",
    narrow: "text",
    cell: ({ id, text, newest }) => (
      <Link to={["thread", id]}>
        {text === "" ? newest.kind : <Text value={text} cell />}
      </Link>
    ),
  },
];

/** The screen of all threads. */
export function ThreadsPage() {
  const filters = filtersOf(FIELDS);
  const records = useRecords<SourceEventRecord>({ what: "source-events", ...filters.input });
  const bindings = useRecords<BindingRecord>({ what: "bindings" });
  const threads = threadsOf(records.items, bindings.items);
  return (
    <List
      title="Threads"
      records={{ ...records, items: threads }}
      fields={FIELDS}
      command={`svc get source-events --watch${filters.flags}`}
      empty={
        <>
          No chat event matches. <code>svc connect slack</code> connects a workspace.
        </>
      }
      label="Threads, newest event first"
      columns={COLUMNS}
      id={({ id }) => id}
      to={({ id }) => href(["thread", id])}
    />
  );
}
