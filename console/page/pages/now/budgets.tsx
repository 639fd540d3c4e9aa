/**
 * How much is used of each budget, as a bar; nothing where there is none.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { useAnswer } from "../../data/answer.ts";
import { Text } from "../../parts/text.tsx";
import { Until } from "../../parts/time.tsx";

/** A budget as `svc get budgets` gives it. */
interface Budget {
  readonly of: string;
  readonly project: string;
  readonly unit: string;
  readonly per: string;
  readonly limit: number;
  readonly granted: number;
  readonly refused?: string;
  readonly spent: number;
  readonly reserved: number;
  readonly used_ratio: number;
  readonly unknown_runs: number;
  readonly waiting: number;
  readonly resets_at: string;
}

/** Runs of agents are not announced one by one. */
const AGAIN_MS = 10_000;

/** The budgets of all projects. */
export function Budgets() {
  const again = useSignal(0);
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) again.value++;
    }, AGAIN_MS);
    return () => clearInterval(timer);
  }, []);
  const { value } = useAnswer("get", { what: "budgets" }, again.value);
  const budgets = (value?.items ?? []) as unknown as readonly Budget[];
  if (budgets.length === 0) return null;
  return (
    <section aria-label="Budgets">
      <h2>Budgets</h2>
      <ul class="plain budgets">
        {budgets.map((budget) => (
          <li key={`${budget.project} ${budget.of} ${budget.unit} ${budget.per}`}>
            <Row budget={budget} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Row({ budget }: { readonly budget: Budget }) {
  const { of, project, unit, per, spent, reserved, waiting, unknown_runs } = budget;
  const notes = [
    ...(reserved > 0 ? [`${short(reserved)} reserved`] : []),
    ...(unknown_runs > 0 ? [`${unknown_runs} runs of unknown use`] : []),
    ...(waiting > 0 ? [`${waiting} steps wait`] : []),
    ...(budget.granted > 0 ? [`${short(budget.granted)} of it allowed by people`] : []),
    ...(budget.refused === undefined ? [] : [budget.refused]),
  ];
  const limit = budget.limit + budget.granted;
  const label = `${short(spent)} of ${short(limit)} ${unit} per ${per}`;
  return (
    <>
      <span>
        <Text value={of} cell />
        {project !== "default" && <span class="faint">{` in ${project}`}</span>}
      </span>
      <progress max={1} value={Math.min(1, budget.used_ratio)} aria-label={`${of}: ${label}`} />
      <span>
        {label}
        <span class="faint">
          {notes.length > 0 && `, ${notes.join(", ")}`}, resets <Until at={budget.resets_at} />
        </span>
      </span>
    </>
  );
}

const short = (amount: number) => Number(amount.toFixed(2)).toString();
