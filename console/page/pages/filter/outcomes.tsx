/**
 * The effect of a condition: the progress of the run, the number of deliveries for each change of
 * outcome, and the changed deliveries.
 *
 * @module
 */

import { Chip } from "../../parts/chip.tsx";
import { Link } from "../../parts/link.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Text } from "../../parts/text.tsx";
import { Ago } from "../../parts/time.tsx";
import { type BacktestRun, MOST_ROWS } from "./backtest.ts";

/** Rows of changed deliveries at first, and added by each click on *more*. */
export const ROWS = 50;

/** The progress of the run, and the number of deliveries for each outcome. */
export function Sums({ run, span }: { readonly run: BacktestRun; readonly span: string }) {
  const { state, total, examined, counts, error } = run;
  if (error !== undefined || state === "none") return null;
  const changes = Object.entries(counts).filter(([change]) => !change.startsWith(UNCHANGED));
  const same = Object.entries(counts).filter(([change]) => change.startsWith(UNCHANGED));
  const changed = sum(changes);
  return (
    <section class="sums" aria-label="What it would have done" aria-busy={state !== "done"}>
      <p class="headline" role="status">
        {headline({ state, changed, examined, span })}
      </p>
      <progress
        max={Math.max(total, 1)}
        value={state === "done" ? Math.max(total, 1) : examined}
        aria-label="Deliveries tried"
      />
      <Table
        items={[...sorted(changes), ...sorted(same)].map(toChange)}
        columns={COUNT_COLUMNS}
        id={({ before, after }) => `${before} ${after}`}
        look="counts"
        mark={({ after }) => after === undefined ? "same" : ""}
      />
    </section>
  );
}

const UNCHANGED = "unchanged ";

/**
 * A number of deliveries with an outcome, and the outcome they would have; absent if it is the
 * same.
 */
interface Change {
  readonly count: number;
  readonly before: string;
  readonly after?: string;
}

function toChange([change, count]: readonly [string, number]): Change {
  if (change.startsWith(UNCHANGED)) return { count, before: change.slice(UNCHANGED.length) };
  const [before = "", after = before] = change.split(" → ");
  return { count, before, after };
}

const COUNT_COLUMNS: readonly Column<Change>[] = [
  {
    header: "Deliveries",
    whole: true,
    number: true,
    cell: ({ count }) => count.toLocaleString("en"),
  },
  { header: "Were", whole: true, cell: ({ before }) => <Chip word={before} /> },
  {
    header: "Would be",
    cell: ({ after }) =>
      after === undefined ? <span class="faint">the same</span> : <Chip word={after} />,
  },
];

function sum(counts: readonly (readonly [string, number])[]): number {
  return counts.reduce((all, [, count]) => all + count, 0);
}

function sorted(counts: readonly [string, number][]): [string, number][] {
  return counts.toSorted(([, a], [, b]) => b - a);
}

function headline({ state, changed, examined, span }: {
  readonly state: BacktestRun["state"];
  readonly changed: number;
  readonly examined: number;
  readonly span: string;
}): string {
  if (state === "waiting" && examined === 0) return "…";
  if (state === "done" && examined === 0) return `No delivery to try arrived in ${span}.`;
  const of = `of ${examined.toLocaleString("en")} deliveries in ${span}`;
  const so = state === "done" ? "" : " so far";
  if (changed === 0) return `The outcome would change${so} for none ${of}.`;
  return `The outcome would change${so} for ${changed.toLocaleString("en")} ${of}.`;
}

/** The deliveries whose outcome would change. */
export function Changed({ run: { changed }, most, more, picked, pick }: {
  readonly run: BacktestRun;
  /** Most rows to show. */
  readonly most: number;
  readonly more: () => void;
  /** Id of the delivery that is shown beside the condition. */
  readonly picked: string | undefined;
  readonly pick: (id: string) => void;
}) {
  if (changed.length === 0) return null;
  const shown = changed.slice(0, most);
  const hasReasons = shown.some(({ reason }) => reason !== "");
  const columns: readonly Column<typeof shown[number]>[] = [
    {
      header: "Arrived",
      whole: true,
      cell: ({ delivery_id, received_at }) => (
        <Link to={["delivery", delivery_id]}>
          <Ago at={received_at} bare />
        </Link>
      ),
    },
    { header: "Was", whole: true, cell: ({ before }) => <Chip word={before} /> },
    { header: "Would be", whole: true, cell: ({ after }) => <Chip word={after} /> },
    { header: "Why", cell: ({ reason }) => <Text value={reason} cell /> },
    {
      header: "Beside",
      whole: true,
      cell: ({ delivery_id }) => (
        <button
          type="button"
          class="small"
          aria-label={`Open ${delivery_id} beside the condition`}
          onClick={() => pick(delivery_id)}
        >
          Open
        </button>
      ),
    },
  ];
  return (
    <section>
      <h2>Deliveries whose outcome would change</h2>
      <Table
        items={shown}
        columns={hasReasons ? columns : columns.filter(({ header }) => header !== "Why")}
        id={({ delivery_id }) => delivery_id}
        mark={({ delivery_id }) => delivery_id === picked ? "picked" : ""}
      />
      {changed.length > most && (
        <button type="button" onClick={more}>
          {Math.min(ROWS, changed.length - most)} more of {changed.length.toLocaleString("en")}
        </button>
      )}
      {changed.length === MOST_ROWS && (
        <p class="faint">The newest {MOST_ROWS.toLocaleString("en")} are shown.</p>
      )}
    </section>
  );
}
