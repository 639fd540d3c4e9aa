/**
 * What a condition would have done: how far it has been tried, how many deliveries would have had
 * which other outcome, and which.
 *
 * @module
 */

import { Badge } from "../../parts/badge.tsx";
import { Link } from "../../parts/link.tsx";
import { Text } from "../../parts/text.tsx";
import { Ago } from "../../parts/time.tsx";
import { type BacktestRun, MOST_ROWS } from "./backtest.ts";

/** Rows of changed deliveries at first, and with each step on. */
export const ROWS = 50;

/** How far it is, and the sums. */
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
      <table class="counts">
        <thead>
          <tr>
            <th scope="col" class="number">Deliveries</th>
            <th scope="col">Were</th>
            <th scope="col">Would be</th>
          </tr>
        </thead>
        <tbody>
          {[...sorted(changes), ...sorted(same)].map(([change, count]) => {
            const [before = "", after = before] = change.replace(UNCHANGED, "").split(" → ");
            const isSame = change.startsWith(UNCHANGED);
            return (
              <tr key={change} class={isSame ? "same" : ""}>
                <td class="number">{count.toLocaleString("en")}</td>
                <td>
                  <Badge word={before} />
                </td>
                <td>{isSame ? <span class="faint">the same</span> : <Badge word={after} />}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

const UNCHANGED = "unchanged ";

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
  if (state === "done" && examined === 0) return `Nothing that could be tried came in ${span}.`;
  const of = `of ${examined.toLocaleString("en")} deliveries of ${span}`;
  const so = state === "done" ? "" : " so far";
  if (changed === 0) return `No other outcome${so} for any ${of}.`;
  return `Another outcome for ${changed.toLocaleString("en")} ${of}${so}.`;
}

/** The deliveries whose outcome would be another one. */
export function Changed({ run: { changed }, most, more, picked, pick }: {
  readonly run: BacktestRun;
  /** Most rows to show. */
  readonly most: number;
  readonly more: () => void;
  /** Id of the delivery beside the condition. */
  readonly picked: string | undefined;
  readonly pick: (id: string) => void;
}) {
  if (changed.length === 0) return null;
  const shown = changed.slice(0, most);
  const hasReasons = shown.some(({ reason }) => reason !== "");
  return (
    <section>
      <h2>They would have another outcome</h2>
      <div class="scroll-x">
        <table class="changed">
          <thead>
            <tr>
              <th scope="col">Arrived</th>
              <th scope="col">Was</th>
              <th scope="col">Would be</th>
              {hasReasons && <th scope="col">Why</th>}
              <th scope="col">
                <span class="hidden">Look at it</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map((one) => (
              <tr key={one.delivery_id} class={one.delivery_id === picked ? "picked" : ""}>
                <td class="nowrap">
                  <Link to={["delivery", one.delivery_id]}>
                    <Ago at={one.received_at} />
                  </Link>
                </td>
                <td>
                  <Badge word={one.before} />
                </td>
                <td>
                  <Badge word={one.after} />
                </td>
                {hasReasons && (
                  <td class="why">
                    <Text value={one.reason} cell />
                  </td>
                )}
                <td>
                  <button
                    type="button"
                    class="small"
                    aria-label={`Look at ${one.delivery_id} beside the condition`}
                    onClick={() =>
                      pick(one.delivery_id)}
                  >
                    Look
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
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
