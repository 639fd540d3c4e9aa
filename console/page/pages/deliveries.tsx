/**
 * Deliveries as they arrive: event, outcome, task and reason. The address holds the filters, and
 * the daemon applies them.
 *
 * @module
 */

import type { DeliveryRecord } from "../../../src/api/records.ts";
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
import { EventCell } from "./deliveries/event_cell.tsx";
import { RedeliverAll } from "./deliveries/redeliver_all.tsx";
import { TaskCell, type TasksById, useNewestTasks, WhyCell } from "./deliveries/task_cell.tsx";

const FIELDS: readonly FilterField[] = [
  { name: "trigger", label: "Trigger" },
  {
    name: "outcome",
    label: "Outcome",
    choices: ["accepted", "duplicate", "skipped", "filtered", "handshake", "rejected", "failed"],
  },
  { name: "reason", label: "Reason contains" },
  TIME_RANGE,
];

const MORE: readonly FilterField[] = [
  { name: "project", label: "Project" },
  { name: "status", label: "Answered with", number: true },
  { name: "remote", label: "Sender's address" },
  { name: "key", label: "Key that matched" },
  { name: "min_duration_ms", label: "Took at least (ms)" },
  { name: "until", label: "Until (2026-01-31T08:00:00Z)" },
];

function columnsWith(newest: TasksById): readonly Column<DeliveryRecord>[] {
  return [
    {
      header: "Arrived",
      whole: true,
      narrow: "time",
      cell: ({ received_at }) => <Ago at={received_at} bare />,
    },
    {
      header: "Event",
      narrow: "more",
      cell: (delivery) => <EventCell delivery={delivery} />,
    },
    {
      header: "Trigger",
      narrow: "title",
      cell: ({ id, trigger }) => (
        <Link to={["delivery", id]}>{trigger === "" ? id : <Text value={trigger} cell />}</Link>
      ),
    },
    { header: "Id", whole: true, cell: ({ id }) => <ShortId id={id} /> },
    {
      header: "Outcome",
      whole: true,
      narrow: "lead",
      cell: ({ outcome }) => <Chip word={outcome} />,
    },
    {
      header: "Task",
      whole: true,
      narrow: "more",
      cell: (delivery) => <TaskCell delivery={delivery} newest={newest} />,
    },
    {
      header: "Why",
      narrow: "text",
      cell: (delivery) => <WhyCell delivery={delivery} newest={newest} />,
    },
  ];
}

/** The screen of all deliveries. */
export function DeliveriesPage() {
  const [first, rest] = [filtersOf(FIELDS), filtersOf(MORE)];
  const input = { ...first.input, ...rest.input };
  const flags = first.flags + rest.flags;
  const records = useRecords<DeliveryRecord>({ what: "deliveries", ...input });
  const newest = useNewestTasks(input, !records.loading);
  const isFiltered = Object.keys(input).length > 0;
  return (
    <List
      title="Deliveries"
      records={records}
      fields={FIELDS}
      moreFields={MORE}
      actions={<RedeliverAll input={input} flags={flags} />}
      command={`svc get deliveries --watch${flags}`}
      empty={isFiltered
        ? "No delivery matches."
        : "No delivery yet: svc trigger send sends a request, signed as its sender would sign it."}
      label="Deliveries, newest first"
      columns={columnsWith(newest)}
      id={({ id }) => id}
      to={({ id }) => href(["delivery", id])}
    />
  );
}
