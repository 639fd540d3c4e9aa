/**
 * Threads of chat platforms, each with the task that it belongs to.
 *
 * @module
 */

import type { BindingRecord, SourceEventRecord } from "../../../src/api/records.ts";
import { Badge } from "../parts/badge.tsx";
import { Command } from "../parts/command.tsx";
import { type FilterField, Filters, filtersOf } from "../parts/filters.tsx";
import { Link } from "../parts/link.tsx";
import { Problem } from "../parts/problem.tsx";
import { type Column, Rows } from "../parts/rows.tsx";
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
  { name: "since_secs", label: "Since", choices: ["3600", "86400", "604800"] },
];

const COLUMNS: readonly Column<Thread>[] = [
  { header: "Newest", width: "6rem", cell: ({ newest }) => <Ago at={newest.received_at} /> },
  { header: "State", width: "9.5rem", cell: ({ state }) => <Badge word={state} /> },
  {
    header: "Begins with",
    width: "minmax(8rem, 3fr)",
    cell: ({ id, text, newest }) => (
      <Link to={["thread", id]}>
        {text === "" ? newest.kind : <Text value={text} cell />}
      </Link>
    ),
  },
  {
    header: "Channel",
    width: "minmax(6rem, 1fr)",
    cell: ({ newest }) => <Text value={newest.conversation_id} cell />,
    spare: true,
  },
  { header: "Events", width: "4rem", cell: ({ events }) => events.length, spare: true },
  {
    header: "Task",
    width: "5.5rem",
    cell: ({ task }) =>
      task === null
        ? <span class="faint">—</span>
        : <Link to={["task", task]} class="mono">…{task.slice(-6)}</Link>,
    spare: true,
  },
];

/** The screen. */
export function ThreadsPage() {
  const filters = filtersOf(FIELDS);
  const { items, loading, error, more } = useRecords<SourceEventRecord>({
    what: "source-events",
    ...filters.input,
  });
  const bindings = useRecords<BindingRecord>({ what: "bindings" });
  const threads = threadsOf(items, bindings.items);
  return (
    <>
      <h1>Threads</h1>
      <Filters fields={FIELDS} />
      {error !== undefined && <Problem error={error} />}
      {!loading && threads.length === 0 && error === undefined && (
        <p class="empty">
          No event of a chat platform has arrived that matches. <code>svc connect slack</code>{" "}
          connects a workspace.
        </p>
      )}
      <Rows
        label="Threads, the one with the newest event first"
        items={threads}
        columns={COLUMNS}
        id={({ id }) => id}
        to={({ id }) => href(["thread", id])}
        more={more}
      />
      <Command line={`svc get source-events --watch${filters.flags}`} />
    </>
  );
}
