/**
 * The records related to a delivery: its tasks, the delivery that it repeats, and the deliveries
 * that repeat it.
 *
 * @module
 */

import type { DeliveryRecord, TaskRecord } from "../../../../src/api/records.ts";
import { useAnswer } from "../../data/answer.ts";
import { useRecords } from "../../data/records.ts";
import { Chip } from "../../parts/chip.tsx";
import { Link } from "../../parts/link.tsx";
import { ShortId } from "../../parts/short_id.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Text } from "../../parts/text.tsx";
import { Ago, Took } from "../../parts/time.tsx";

/** Number of later deliveries of the same trigger that are searched for repetitions. */
const LOOKED_AT = 500;

/** Lists the tasks of a delivery, and the deliveries that it repeats or that repeat it. */
export function Related({ delivery, again }: {
  readonly delivery: DeliveryRecord;
  /** A new value makes the component search again for deliveries that repeat this one. */
  readonly again: string;
}) {
  const { id, project, trigger, redelivery_of } = delivery;
  const originals = originalsOf(delivery);
  const { value: later } = useAnswer("get", {
    what: "deliveries",
    project,
    trigger,
    after: id,
    limit: LOOKED_AT,
  }, again);
  const repeats = ((later?.items ?? []) as unknown as readonly DeliveryRecord[]).filter((one) =>
    one.redelivery_of === id || originalsOf(one).includes(id)
  );
  return (
    <>
      <Tasks delivery={delivery} />
      {(redelivery_of !== null || originals.length > 0 || repeats.length > 0) && (
        <>
          <h2>The same event</h2>
          <ul class="plain">
            {redelivery_of !== null && (
              <li>
                This is <Link to={["delivery", redelivery_of]}>an earlier delivery</Link> that{" "}
                {delivery.by === undefined ? "was" : `${delivery.by} had`} sent again
              </li>
            )}
            {[...new Set(originals)].map((one) => (
              <li key={one}>
                It first arrived with <Link to={["delivery", one]}>another delivery</Link>
              </li>
            ))}
            {repeats.map((one) => (
              <li key={one.id}>
                <Link to={["delivery", one.id]}>
                  {one.redelivery_of === id ? "Sent again" : "Arrived again"}
                </Link>{" "}
                <Ago at={one.received_at} />: <Chip word={one.outcome} />
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

/**
 * The earlier deliveries of its events; for a single event, the reason of this delivery names it.
 */
function originalsOf({ events = [], outcome, reason }: DeliveryRecord): readonly string[] {
  const [, only] = outcome === "duplicate"
    ? /\bin delivery ([0-9A-Z]{26})\b/.exec(reason) ?? []
    : [];
  return [only, ...events.map(({ duplicate_of }) => duplicate_of ?? undefined)]
    .filter((one) => one !== undefined);
}

/** The tasks of a delivery with their retries, kept up to date. */
function Tasks({ delivery }: { readonly delivery: DeliveryRecord }) {
  const { items } = useRecords<TaskRecord>({ what: "tasks", delivery: delivery.id, limit: 100 });
  if (items.length === 0) return null;
  return (
    <>
      <h2>{items.length === 1 ? "Its task" : "Its tasks"}</h2>
      <Table items={items} columns={TASK_COLUMNS} id={({ id }) => id} />
    </>
  );
}

const TASK_COLUMNS: readonly Column<TaskRecord>[] = [
  {
    header: "Task",
    whole: true,
    cell: ({ id, workflow }) => (
      <Link to={["task", id]}>
        {workflow} <ShortId id={id} />
      </Link>
    ),
  },
  { header: "State", whole: true, cell: ({ state }) => <Chip word={state} /> },
  {
    header: "Took",
    whole: true,
    number: true,
    narrow: "gone",
    cell: (task) => <Took from={task.started_at} to={task.finished_at} />,
  },
  {
    header: "Why",
    cell: ({ retry_of, reason }) => (
      <>
        {retry_of !== null && "a retry "}
        <Text value={reason} cell />
      </>
    ),
  },
];
