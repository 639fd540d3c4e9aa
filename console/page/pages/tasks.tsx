/**
 * Tasks as they come and go. Filters are in the address and run in the daemon; what matches them can
 * be cancelled or retried all at once.
 *
 * @module
 */

import type { TaskRecord } from "../../../src/api/records.ts";
import { Badge } from "../parts/badge.tsx";
import { Command } from "../parts/command.tsx";
import { type FilterField, Filters, filtersOf } from "../parts/filters.tsx";
import { Link } from "../parts/link.tsx";
import { Problem } from "../parts/problem.tsx";
import { type Column, Rows } from "../parts/rows.tsx";
import { Text } from "../parts/text.tsx";
import { Ago, Took } from "../parts/time.tsx";
import { useRecords } from "../data/records.ts";
import { href, query } from "../route.ts";
import { Bulk } from "./tasks/bulk.tsx";

const FIELDS: readonly FilterField[] = [
  {
    name: "state",
    label: "State",
    choices: ["pending", "running", "succeeded", "failed", "cancelled"],
  },
  { name: "trigger", label: "Trigger" },
  { name: "workflow", label: "Workflow" },
  { name: "project", label: "Project" },
  { name: "since_secs", label: "Since", choices: ["3600", "86400", "604800"] },
];

const COLUMNS: readonly Column<TaskRecord>[] = [
  { header: "Made", width: "5.5rem", cell: ({ created_at }) => <Ago at={created_at} /> },
  { header: "State", width: "6.5rem", cell: ({ state }) => <Badge word={state} /> },
  {
    header: "Workflow",
    width: "minmax(4rem, 1fr)",
    cell: ({ id, workflow }) => <Link to={["task", id]}>{workflow === "" ? id : workflow}</Link>,
  },
  { header: "Trigger", width: "minmax(6rem, 1fr)", cell: ({ trigger }) => trigger, spare: true },
  {
    header: "Took",
    width: "3.5rem",
    cell: ({ started_at, finished_at }) => <Took from={started_at} to={finished_at} />,
  },
  {
    header: "Why",
    width: "minmax(8rem, 3fr)",
    cell: ({ reason }) => <Text value={reason} cell />,
    spare: true,
  },
];

/** Filters that links bring: shown only where there is one. */
const LINKED: readonly FilterField[] = [
  { name: "delivery", label: "Of delivery" },
  { name: "parent", label: "Started by" },
  { name: "retry_of", label: "Retries of" },
];

/** The screen. */
export function TasksPage() {
  const fields = [...FIELDS, ...LINKED.filter(({ name }) => query.value.has(name))];
  const filters = filtersOf(fields);
  const { items, loading, error, more } = useRecords<TaskRecord>({
    what: "tasks",
    ...filters.input,
  });
  return (
    <>
      <h1>Tasks</h1>
      <Filters fields={fields} />
      <Bulk matching={filters} />
      {error !== undefined && <Problem error={error} />}
      {!loading && items.length === 0 && error === undefined && (
        <p class="empty">There is no task that matches.</p>
      )}
      <Rows
        label="Tasks, newest first"
        items={items}
        columns={COLUMNS}
        id={({ id }) => id}
        to={({ id }) => href(["task", id])}
        more={more}
      />
      <Command line={`svc get tasks --watch${filters.flags}`} />
    </>
  );
}
