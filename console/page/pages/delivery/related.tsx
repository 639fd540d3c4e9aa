/**
 * What belongs to a delivery: its tasks, the delivery that it repeats, and those that repeat it.
 *
 * @module
 */

import type { DeliveryRecord, TaskRecord } from "../../../../src/api/records.ts";
import { useAnswer } from "../../data/answer.ts";
import { useRecords } from "../../data/records.ts";
import { Badge } from "../../parts/badge.tsx";
import { Link } from "../../parts/link.tsx";
import { Text } from "../../parts/text.tsx";
import { Ago, Took } from "../../parts/time.tsx";

/** Deliveries of the same trigger, after this one, that are looked through for repetitions. */
const LOOKED_AT = 500;

/** Tasks and other deliveries. */
export function Related({ delivery, again }: {
  readonly delivery: DeliveryRecord;
  /** Looks again for deliveries that repeat it when it is another value. */
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
          <ul class="bare">
            {redelivery_of !== null && (
              <li>
                This is <Link to={["delivery", redelivery_of]}>an earlier delivery</Link>{" "}
                that was sent again
              </li>
            )}
            {[...new Set(originals)].map((one) => (
              <li key={one}>
                It came first with <Link to={["delivery", one]}>another delivery</Link>
              </li>
            ))}
            {repeats.map((one) => (
              <li key={one.id}>
                <Link to={["delivery", one.id]}>
                  {one.redelivery_of === id ? "Sent again" : "Came once more"}
                </Link>{" "}
                <Ago at={one.received_at} />: <Badge word={one.outcome} />
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

/** The deliveries that brought its events first; of a single event its reason says it. */
function originalsOf({ events = [], outcome, reason }: DeliveryRecord): readonly string[] {
  const [, only] = outcome === "duplicate" ? /\b([0-9A-Z]{26})$/.exec(reason) ?? [] : [];
  return [only, ...events.map(({ duplicate_of }) => duplicate_of ?? undefined)]
    .filter((one) => one !== undefined);
}

/** Its tasks, retries included, as they are now. */
function Tasks({ delivery }: { readonly delivery: DeliveryRecord }) {
  const { items } = useRecords<TaskRecord>({ what: "tasks", delivery: delivery.id, limit: 100 });
  if (items.length === 0) return null;
  return (
    <>
      <h2>{items.length === 1 ? "Its task" : "Its tasks"}</h2>
      <div class="scroll-x">
        <table class="tasks">
          <thead>
            <tr>
              <th scope="col">Task</th>
              <th scope="col">State</th>
              <th scope="col">Workflow</th>
              <th scope="col">Took</th>
              <th scope="col">Why</th>
            </tr>
          </thead>
          <tbody>
            {items.map((task) => (
              <tr key={task.id}>
                <td>
                  <Link to={["task", task.id]}>
                    <code>{task.id}</code>
                  </Link>
                </td>
                <td>
                  <Badge word={task.state} />
                </td>
                <td>{task.workflow}</td>
                <td>
                  <Took from={task.started_at} to={task.finished_at} />
                </td>
                <td>
                  {task.retry_of !== null && "a retry "}
                  <Text value={task.reason} cell />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
