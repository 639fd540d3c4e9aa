/**
 * Tasks, kept up to date. The address holds the filters, and the daemon applies them; all matching
 * tasks can be cancelled or retried at once.
 *
 * @module
 */

import type { TaskRecord } from "../../../src/api/records.ts";
import { Chip } from "../parts/chip.tsx";
import { type FilterField, filtersOf, TIME_RANGE } from "../parts/filters.tsx";
import { Link } from "../parts/link.tsx";
import { List } from "../parts/list.tsx";
import type { Column } from "../parts/table.tsx";
import { Text } from "../parts/text.tsx";
import { Ago, Took } from "../parts/time.tsx";
import { useRecords } from "../data/records.ts";
import { href, query } from "../route.ts";
import { Bulk } from "./tasks/bulk.tsx";

const FIELDS: readonly FilterField[] = [
  {
    name: "state",
    label: "State",
    choices: ["pending", "running", "waiting", "succeeded", "failed", "cancelled"],
  },
  { name: "trigger", label: "Trigger" },
  { name: "workflow", label: "Workflow" },
  { name: "project", label: "Project" },
  TIME_RANGE,
];

const COLUMNS: readonly Column<TaskRecord>[] = [
  {
    header: "Created",
    whole: true,
    narrow: "time",
    cell: ({ created_at }) => <Ago at={created_at} bare />,
  },
  {
    header: "Workflow",
    narrow: "title",
    cell: ({ id, workflow }) => <Link to={["task", id]}>{workflow === "" ? id : workflow}</Link>,
  },
  { header: "Trigger", cell: ({ trigger }) => trigger },
  { header: "State", whole: true, narrow: "lead", cell: ({ state }) => <Chip word={state} /> },
  {
    header: "Took",
    whole: true,
    number: true,
    narrow: "more",
    cell: ({ started_at, finished_at }) => <Took from={started_at} to={finished_at} />,
  },
  { header: "Why", narrow: "text", cell: ({ reason }) => <Text value={reason} cell /> },
];

/** Filters that only links set, each shown only while it is set. */
const LINKED: readonly FilterField[] = [
  { name: "delivery", label: "Of delivery" },
  { name: "parent", label: "Started by" },
  { name: "retry_of", label: "Retries of" },
  { name: "session", label: "In session" },
];

/** The screen of all tasks. */
export function TasksPage() {
  const fields = [...FIELDS, ...LINKED.filter(({ name }) => query.value.has(name))];
  const filters = filtersOf(fields);
  const records = useRecords<TaskRecord>({ what: "tasks", ...filters.input });
  return (
    <List
      title="Tasks"
      records={records}
      fields={fields}
      actions={<Bulk matching={filters} />}
      command={`svc get tasks --watch${filters.flags}`}
      empty="No task matches."
      label="Tasks, newest first"
      columns={COLUMNS}
      id={({ id }) => id}
      to={({ id }) => href(["task", id])}
    />
  );
}
