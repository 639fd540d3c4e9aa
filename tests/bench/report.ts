/**
 * The report of a run: figures with their medians and whether they reach their targets, as a table
 * and as JSON.
 *
 * @module
 */

import { formatTable } from "../../src/cli/table.ts";
import type { Machine } from "./machine.ts";
import type { Figure } from "./scenario.ts";
import { median } from "./stats.ts";

/** A figure and what came of it. */
export interface Result extends Figure {
  /** Scenario it is of. */
  readonly scenario: string;
  /** Middle of its samples. */
  readonly median: number;
  /** Whether it reaches its target; absent without one. */
  readonly ok?: boolean;
}

/** Everything a run has found. */
export interface Report {
  readonly at: string;
  readonly machine: Machine;
  /** What made the load. */
  readonly load: string;
  /** Which svc it was: `compiled` or `source`. */
  readonly program: string;
  readonly rounds: number;
  readonly seconds: number;
  readonly results: readonly Result[];
}

/** Judges the figures of a scenario. */
export function judge(scenario: string, figures: readonly Figure[]): Result[] {
  return figures.map((figure) => {
    const value = median(figure.samples);
    const { target } = figure;
    return {
      scenario,
      ...figure,
      median: value,
      ...(target === undefined ? {} : { ok: reaches(value, target) }),
    };
  });
}

function reaches(value: number, target: NonNullable<Figure["target"]>): boolean {
  return "atLeast" in target ? value >= target.atLeast : value <= target.atMost;
}

/** How far a figure is from its target: 1 is on it, more is better. */
export function headroom({ median: value, target }: Result): number {
  if (target === undefined) return NaN;
  return "atLeast" in target ? value / target.atLeast : target.atMost / Math.max(value, 1e-9);
}

/** A table for the terminal, under a line for each scenario. */
export function tableOf(results: readonly Result[]): string {
  const headers = ["FIGURE", "MEDIAN", "LEAST … MOST", "TARGET", "RESULT"];
  const rows = results.map((result) => [
    result.name,
    shown(result.median, result.unit),
    result.samples.length === 1
      ? ""
      : `${shown(Math.min(...result.samples), "")} … ${shown(Math.max(...result.samples), "")}`,
    targetText(result),
    result.ok === undefined ? "" : result.ok ? "ok" : "MISSED",
  ]);
  const columns = headers.map((header) => ({ header, wide: false }));
  const [head = "", ...lines] = formatTable(columns, rows, undefined).trimEnd().split("\n");
  let scenario = "";
  const body = lines.flatMap((line, at) => {
    const own = results[at]?.scenario ?? "";
    if (own === scenario) return [line];
    scenario = own;
    return [`— ${own}`, line];
  });
  return [head, ...body].join("\n");
}

/** A target as text. */
export function targetText({ target, unit }: Figure): string {
  if (target === undefined) return "";
  return "atLeast" in target
    ? `≥ ${shown(target.atLeast, unit)}`
    : `≤ ${shown(target.atMost, unit)}`;
}

/** A number with its unit, with as many digits as mean something. */
export function shown(value: number, unit: Figure["unit"]): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  const text = value.toLocaleString("en", {
    maximumFractionDigits: Number.isInteger(value) ? 0 : digits,
  });
  if (unit === "") return text;
  return unit === "/s" ? `${text}/s` : `${text} ${unit}`;
}
