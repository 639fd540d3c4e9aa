/**
 * Deliveries as they come in: outcome and cause. Filters are in the address and run in the daemon.
 *
 * @module
 */

import type { DeliveryRecord } from "../../../src/api/records.ts";
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
import { RedeliverAll } from "./deliveries/redeliver_all.tsx";

const FIELDS: readonly FilterField[] = [
  { name: "trigger", label: "Trigger" },
  {
    name: "outcome",
    label: "Outcome",
    choices: ["accepted", "duplicate", "skipped", "filtered", "handshake", "rejected", "failed"],
  },
  { name: "reason", label: "Why, in part" },
  {
    name: "since_secs",
    label: "Of the last",
    choices: ["900", "3600", "86400", "604800", "2592000"],
  },
];

const MORE: readonly FilterField[] = [
  { name: "project", label: "Project" },
  { name: "status", label: "Answered with", number: true },
  { name: "remote", label: "Sender's address" },
  { name: "key", label: "Key that matched" },
  { name: "min_duration_ms", label: "Took at least (ms)" },
  { name: "until", label: "Until (2026-01-31T08:00:00Z)" },
];

const COLUMNS: readonly Column<DeliveryRecord>[] = [
  { header: "Arrived", width: "6rem", cell: ({ received_at }) => <Ago at={received_at} /> },
  { header: "Outcome", width: "7.5rem", cell: ({ outcome }) => <Badge word={outcome} /> },
  {
    header: "Trigger",
    width: "minmax(6rem, 1fr)",
    cell: ({ id, trigger }) => (
      <Link to={["delivery", id]}>{trigger === "" ? id : <Text value={trigger} cell />}</Link>
    ),
  },
  {
    header: "Why",
    width: "minmax(8rem, 3fr)",
    cell: ({ reason }) => <Text value={reason ?? ""} cell />,
    spare: true,
  },
  { header: "Status", width: "4rem", cell: ({ status }) => status ?? "", spare: true },
  { header: "From", width: "minmax(0, 8rem)", cell: ({ remote }) => remote, spare: true },
];

/** The screen. */
export function DeliveriesPage() {
  const [first, rest] = [filtersOf(FIELDS), filtersOf(MORE)];
  const input = Object.assign({}, first.input, rest.input);
  const flags = first.flags + rest.flags;
  const { items, loading, error, more } = useRecords<DeliveryRecord>({
    what: "deliveries",
    ...input,
  });
  const isFiltered = Object.keys(input).length > 0;
  return (
    <>
      <h1>Deliveries</h1>
      <Filters fields={FIELDS} />
      <details class="more-filters" open={Object.keys(rest.input).length > 0}>
        <summary>More filters</summary>
        <Filters fields={MORE} />
      </details>
      {error !== undefined && <Problem error={error} />}
      {!loading && items.length === 0 && error === undefined && (
        <p class="empty">
          {isFiltered
            ? "Nothing has arrived that matches."
            : "Nothing has arrived yet: svc trigger send makes a signed request as its sender would."}
        </p>
      )}
      <Rows
        label="Deliveries, newest first"
        items={items}
        columns={COLUMNS}
        id={({ id }) => id}
        to={({ id }) => href(["delivery", id])}
        more={more}
      />
      <RedeliverAll input={input} flags={flags} />
      <Command line={`svc get deliveries --watch${flags}`} />
    </>
  );
}
