/**
 * The report of a run: figures with their medians and whether they reach their targets, as a table
 * for the terminal, as one for the docs, and as JSON.
 *
 * @module
 */

import { defined } from "../../src/base/defined.ts";
import { formatTable } from "../../src/cli/table.ts";
import { type Machine, machineLine } from "./machine.ts";
import type { Figure, Target } from "./scenario.ts";
import { median, ratios } from "./stats.ts";

/** A figure and what came of it. */
export interface Result extends Figure {
  /** Scenario it is of. */
  readonly scenario: string;
  /** Middle of its samples. */
  readonly median: number;
  /** Its ratios to the earlier program's, one by one; absent without one. */
  readonly ratio?: readonly number[];
  /** Whether it reaches its targets; absent without one, and where it cannot be measured. */
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
  /** Path of the earlier svc it was compared with. */
  readonly baseline?: string;
  readonly rounds: number;
  readonly seconds: number;
  readonly results: readonly Result[];
}

/** Judges the figures of a scenario. */
export function judge(scenario: string, figures: readonly Figure[]): Result[] {
  return figures.map((figure) => {
    const { samples, before, target, change } = figure;
    const ratio = before === undefined ? undefined : ratios(samples, before);
    const judged = [
      ...target === undefined ? [] : [reaches(median(samples), target)],
      ...change === undefined || ratio === undefined ? [] : [reaches(median(ratio), change)],
    ].filter((reached) => reached !== undefined);
    return {
      scenario,
      ...figure,
      median: median(samples),
      ...defined({ ratio }),
      ...(judged.length === 0 ? {} : { ok: judged.every((reached) => reached) }),
    };
  });
}

function reaches(value: number, target: Target): boolean | undefined {
  if (Number.isNaN(value)) return undefined;
  return "atLeast" in target ? value >= target.atLeast : value <= target.atMost;
}

/**
 * How far a figure is from the target it is farthest from: 1 is on it, more is better. NaN without
 * one, and where nothing was measured.
 */
export function headroom({ target, change, median: value, ratio }: Result): number {
  const rooms = [
    ...target === undefined ? [] : [roomTo(target, value)],
    ...change === undefined || ratio === undefined ? [] : [roomTo(change, median(ratio))],
  ];
  return rooms.length === 0 ? NaN : Math.min(...rooms);
}

function roomTo(target: Target, value: number): number {
  return "atLeast" in target ? value / target.atLeast : target.atMost / Math.max(value, 1e-9);
}

/** A table for the terminal, 80 characters wide, under a line for each scenario. */
export function tableOf(results: readonly Result[]): string {
  const shownOnes = results.filter(({ detail }) => detail !== true);
  const compared = shownOnes.some(({ before }) => before !== undefined);
  const headers = compared
    ? ["FIGURE", "BEFORE", "NOW", "RATIO", "WANTED"]
    : ["FIGURE", "MEDIAN", "LEAST … MOST", "WANTED"];
  const rows = shownOnes.map((result) => {
    const { name, unit, samples, before, ratio } = result;
    const wanted = `${wantedText(result)}${result.ok === false ? " MISSED" : ""}`;
    const values = compared
      ? [
        before === undefined ? "" : shown(median(before), unit),
        shown(result.median, unit),
        Number.isNaN(median(ratio ?? [])) ? "" : shown(median(ratio ?? []), "×"),
      ]
      : [shown(result.median, unit), rangeOf(samples, " … ")];
    return [name, ...values, wanted];
  });
  const columns = headers.map((header) => ({ header, wide: false }));
  const [head = "", ...lines] = formatTable(columns, rows, undefined).trimEnd().split("\n");
  let scenario = "";
  const body = lines.flatMap((line, at) => {
    const own = shownOnes[at]?.scenario ?? "";
    if (own === scenario) return [line];
    scenario = own;
    return [`— ${own}`, line];
  });
  return [head, ...body].join("\n");
}

/** The same for the docs: where it is from, then medians, with least and most in brackets. */
export function markdownOf(report: Report): string {
  const withRange = (values: readonly number[], unit: Figure["unit"]) => {
    const range = rangeOf(values, "–");
    return shown(median(values), unit) + (range === "" ? "" : ` (${range})`);
  };
  const shownOnes = report.results.filter(({ detail }) => detail !== true);
  const rows = shownOnes.flatMap((result, at) => {
    const { scenario, name, unit, samples, before, ratio } = result;
    const now = withRange(samples, unit);
    const row = [
      name,
      before === undefined ? "" : withRange(before, unit),
      result.ok === false ? `**${now}**` : now,
      ratio === undefined ? "" : withRange(ratio, "×"),
      wantedText(result),
    ];
    return scenario === shownOnes[at - 1]?.scenario
      ? [row]
      : [[`*${scenario}*`, "", "", "", ""], row];
  });
  const lines = [["what", "before", "now", "ratio", "wanted"], Array(5).fill("---"), ...rows];
  const table = lines.map((cells) => `| ${cells.join(" | ")} |\n`).join("");
  return `${machineLine(report.machine)}; ${conditionsLine(report)}.\n\n${table}`;
}

/** How it was measured, in a line. */
export function conditionsLine({ at, program, load, rounds, seconds }: Report): string {
  return `${at.slice(0, 10)}, svc ${program}, ${load}, medians of ${rounds} rounds of ${seconds} s`;
}

/** Least and most, where there is more than one. */
function rangeOf(values: readonly number[], between: string): string {
  const measured = values.filter((value) => !Number.isNaN(value));
  if (measured.length < 2) return "";
  return [Math.min(...measured), Math.max(...measured)].map((one) => shown(one, "")).join(between);
}

/** Its targets as text. */
export function wantedText({ target, change, unit }: Figure): string {
  return [
    ...target === undefined ? [] : [targetText(target, unit)],
    ...change === undefined ? [] : [`ratio ${targetText(change, "×")}`],
  ].join(", ");
}

function targetText(target: Target, unit: Figure["unit"]): string {
  return "atLeast" in target
    ? `≥ ${shown(target.atLeast, unit)}`
    : `≤ ${shown(target.atMost, unit)}`;
}

/** A number with its unit, with as many digits as mean something. */
export function shown(value: number, unit: Figure["unit"]): string {
  if (Number.isNaN(value)) return "not measured";
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  const text = value.toLocaleString("en", {
    minimumFractionDigits: unit === "×" ? 2 : 0,
    maximumFractionDigits: Number.isInteger(value) ? 2 : Math.max(digits, unit === "×" ? 2 : 0),
  });
  if (unit === "" || unit === "×") return text;
  return unit === "/s" ? `${text}/s` : `${text} ${unit}`;
}
