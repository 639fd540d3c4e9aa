/**
 * The report of a run: figures with medians and whether they reach their targets, as tables for the
 * terminal and for the docs, and as JSON.
 *
 * @module
 */

import { defined } from "../../src/base/defined.ts";
import { formatTable } from "../../src/cli/table.ts";
import { type Machine, machineLine } from "./machine.ts";
import type { Figure, Target } from "./scenario.ts";
import { median, ratios } from "./stats.ts";

/** A figure with its judgement. */
export interface Result extends Figure {
  /** The scenario of the figure. */
  readonly scenario: string;
  /** The median of its samples. */
  readonly median: number;
  /** The ratios to the samples of the earlier program; absent if there is no earlier program. */
  readonly ratio?: readonly number[];
  /** Whether the figure reaches its targets; absent if it has none, or if it cannot be measured. */
  readonly ok?: boolean;
}

/** All results of a run. */
export interface Report {
  readonly at: string;
  readonly machine: Machine;
  /** The name of the client that made the load. */
  readonly load: string;
  /** The measured svc: `compiled` or `source`. */
  readonly program: string;
  /** Path of the earlier svc of the comparison. */
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
 * The ratio of a figure to the target that it misses most: 1 is on the target, more is better. NaN
 * if there is no target or no measurement.
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
export async function tableOf(results: readonly Result[]): Promise<string> {
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
  const table = await formatTable(columns, rows, undefined);
  const [head = "", ...lines] = table.trimEnd().split("\n");
  let scenario = "";
  const body = lines.flatMap((line, at) => {
    const own = shownOnes[at]?.scenario ?? "";
    if (own === scenario) return [line];
    scenario = own;
    return [`— ${own}`, line];
  });
  return [head, ...body].join("\n");
}

/** Every figure as a table: medians with the least and the greatest value in brackets. */
export function markdownOf(report: Report): string {
  const shownOnes = report.results.filter(({ detail }) => detail !== true);
  return markdown(report, {
    columns: ["what", "before", "now", "ratio", "wanted"],
    rows: shownOnes.flatMap((result, at) => {
      const { scenario, name, unit, before, ratio } = result;
      const row = [
        name,
        before === undefined ? "" : withRange(before, unit),
        measured(result),
        ratio === undefined ? "" : withRange(ratio, "×"),
        wantedText(result),
      ];
      return scenario === shownOnes[at - 1]?.scenario
        ? [row]
        : [[`*${scenario}*`, "", "", "", ""], row];
    }),
  });
}

/** The table of the docs: figures with a target, and those that the docs refer to. */
export function docsTableOf(report: Report): string {
  const shownOnes = report.results.filter(({ target, change, inDocs, detail }) =>
    detail !== true && (inDocs === true || target !== undefined || change !== undefined)
  );
  return markdown(report, {
    columns: ["scenario", "what", "measured", "wanted"],
    rows: shownOnes.map((result, at) => {
      const { scenario, name, change, ratio } = result;
      const changed = change === undefined || ratio === undefined
        ? ""
        : `; ${withRange(ratio, "×")} of before`;
      return [
        scenario === shownOnes[at - 1]?.scenario ? "" : `*${scenario}*`,
        name,
        measured(result) + changed,
        wantedText(result),
      ];
    }),
  });
}

/** A table below a line about the machine. */
function markdown(
  report: Report,
  { columns, rows }: {
    readonly columns: readonly string[];
    readonly rows: readonly (readonly string[])[];
  },
): string {
  const lines = [columns, columns.map(() => "---"), ...rows];
  const table = lines.map((cells) => `| ${cells.join(" | ")} |\n`).join("");
  return `${machineLine(report.machine)}; ${conditionsLine(report)}.\n\n${table}`;
}

/** The median, with the least and the greatest value; bold if the target is missed. */
function measured({ samples, unit, ok }: Result): string {
  const text = withRange(samples, unit);
  return ok === false ? `**${text}**` : text;
}

function withRange(values: readonly number[], unit: Figure["unit"]): string {
  const range = rangeOf(values, "–");
  return shown(median(values), unit) + (range === "" ? "" : ` (${range})`);
}

/** A line about the way of measuring. */
export function conditionsLine({ at, program, load, rounds, seconds }: Report): string {
  return `${at.slice(0, 10)}, svc ${program}, ${load}, medians of ${rounds} round${
    rounds === 1 ? "" : "s"
  } of ${seconds} s`;
}

/** The least and the greatest sample, if there are several. */
function rangeOf(values: readonly number[], between: string): string {
  const measured = values.filter((value) => !Number.isNaN(value));
  if (measured.length < 2) return "";
  return [Math.min(...measured), Math.max(...measured)].map((one) => shown(one, "")).join(between);
}

/** The targets of a figure as text. */
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

/** A number with its unit, rounded to significant digits. */
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
