/**
 * A delivery compared with another one: the differences of headers and payload. The address has the
 * id of the other delivery.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { defined } from "../../../../src/base/defined.ts";
import type { ShownDelivery } from "../../../../src/api/delivery_operations.ts";
import type { DeliveryRecord } from "../../../../src/api/records.ts";
import { useAnswer } from "../../data/answer.ts";
import { choiceOf } from "../../data/deliveries.ts";
import { Field } from "../../parts/field.tsx";
import { Link } from "../../parts/link.tsx";
import { Problem } from "../../parts/problem.tsx";
import { ShortId, shortId } from "../../parts/short_id.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Text } from "../../parts/text.tsx";
import { setQuery } from "../../route.ts";
import { compareBodies, compareHeaders, type Difference, type Differences } from "./differences.ts";

/** Number of deliveries to choose from. */
const CHOICES = 50;
/** Number of differences at first, and added by each click on *more*. */
const ROWS = 100;

/** The comparison; `other` is the id of the other delivery, empty until it is chosen. */
export function Compare({ shown, other }: {
  readonly shown: ShownDelivery;
  readonly other: string;
}) {
  const { delivery: { id, trigger, project } } = shown;
  const { value: listed } = useAnswer("get", {
    what: "deliveries",
    limit: CHOICES,
    project,
    ...defined({ trigger: trigger || undefined }),
  });
  const { value, error, loading } = useAnswer(
    "delivery.show",
    other === "" ? undefined : { id: other },
  );
  const choices = ((listed?.items ?? []) as unknown as readonly DeliveryRecord[])
    .filter((one) => one.id !== id);
  const isListed = choices.some((one) => one.id === other);
  return (
    <section class="panel" aria-label="Compared with another delivery">
      <div class="title-row">
        <h2>Compare</h2>
        <button type="button" class="small" onClick={() => setQuery({ with: "" })}>Close</button>
      </div>
      <Field label="Another delivery of the same trigger">
        <select
          value={other}
          onChange={({ currentTarget }) => setQuery({ with: currentTarget.value || "choose" })}
        >
          <option value="">choose one</option>
          {other !== "" && !isListed && <option value={other}>{shortId(other)}</option>}
          {choices.map((one) => <option key={one.id} value={one.id}>{choiceOf(one)}</option>)}
        </select>
      </Field>
      {error !== undefined && <Problem error={error} />}
      {value !== undefined && !loading && <Compared left={shown} right={value} />}
    </section>
  );
}

function Compared({ left, right }: {
  readonly left: ShownDelivery;
  readonly right: ShownDelivery;
}) {
  const headers = useMemo(() => compareHeaders(left.headers, right.headers), [left, right]);
  const isText = left.body_encoding === "text" && right.body_encoding === "text";
  const body = useMemo(
    () => isText ? compareBodies(left.body, right.body) : undefined,
    [left, right, isText],
  );
  const cut = left.truncated || right.truncated;
  const [here, there] = [left.delivery, right.delivery];
  return (
    <>
      <p>
        This one is <ShortId id={here.id} />, the other one{" "}
        <Link to={["delivery", there.id]}>
          <ShortId id={there.id} />
        </Link>.
      </p>
      <DifferenceTable title="Headers" of="header" found={headers} />
      {body === undefined
        ? <p>{left.body === right.body ? "The bodies are the same." : "The bodies differ."}</p>
        : <DifferenceTable title="Payload" of="value" found={body} />}
      {cut && <p class="faint">Only the first 256 KiB of each body are compared.</p>}
    </>
  );
}

const COLUMNS: readonly Column<Difference>[] = [
  {
    header: "Where",
    cell: ({ name }) => (
      <code>
        <Text value={name()} cell />
      </code>
    ),
  },
  { header: "This", cell: ({ left }) => <Side value={left()} /> },
  { header: "Other", cell: ({ right }) => <Side value={right()} /> },
];

function DifferenceTable({ title, of, found: { different, same } }: {
  readonly title: string;
  readonly of: string;
  readonly found: Differences;
}) {
  const most = useSignal(ROWS);
  const count = (number: number, what: string) =>
    `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;
  return (
    <>
      <h3>
        {title}
        <span class="count">
          {different.length === 0 ? "the same" : count(different.length, "difference")}
        </span>
      </h3>
      {different.length === 0 ? <p>{count(same, of)}, each the same in both.</p> : (
        <Table
          items={different.slice(0, most.value)}
          columns={COLUMNS}
          id={(_, at) => at}
          label={`${title} that differ`}
          look="differences"
        />
      )}
      {different.length > most.value && (
        <button type="button" onClick={() => most.value += ROWS}>
          {count(Math.min(ROWS, different.length - most.value), "difference")} more
        </button>
      )}
      {different.length > 0 && same > 0 && <p class="faint">{count(same, of)} the same.</p>}
    </>
  );
}

function Side({ value }: { readonly value: string | undefined }) {
  if (value === undefined) return <span class="faint">—</span>;
  return (
    <code>
      <Text value={value} />
    </code>
  );
}
