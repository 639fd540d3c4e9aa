/**
 * Memory and descriptors of a daemon in each of its lives. Growth is a last quarter of a life far
 * above its second quarter, or late lives far above early ones.
 *
 * @module
 */

import { descriptors, residentMb } from "../bench/machine.ts";
import { median } from "../bench/stats.ts";

export interface Sample {
  readonly residentMb: number;
  readonly descriptors: number;
}

/** A life of the daemon, from a start to the next end. */
export interface Life {
  /** Number of the life, counted from 1. */
  readonly number: number;
  /** Samples in the order of time. */
  readonly samples: Sample[];
}

/** The growth that is allowed in addition to {@linkcode FACTOR}. */
const SLACK = { residentMb: 30, descriptors: 60 };
const FACTOR = 1.5;
/** Least number of samples of a life whose quarters are compared, and of each part of all lives. */
const ENOUGH = 8;

/** Takes a sample of a process, on Linux only; none if the process has just ended. */
export async function takeSample(pid: number, life: Life): Promise<void> {
  if (Deno.build.os !== "linux") return;
  try {
    life.samples.push({ residentMb: await residentMb(pid), descriptors: descriptors(pid) });
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

type Measure = keyof Sample;
const MEASURES: readonly Measure[] = ["residentMb", "descriptors"];

export function findGrowth(lives: readonly Life[]): string[] {
  const found: string[] = [];
  const judge = (what: string, measure: Measure, parts: readonly (readonly number[])[]) => {
    const [early, late] = parts.map(median);
    if (early === undefined || late === undefined) return;
    const most = early * FACTOR + SLACK[measure];
    if (late <= most) return;
    found.push(`${what}: ${measure} grew from ${early.toFixed(0)} to ${late.toFixed(0)}`);
  };
  for (const measure of MEASURES) {
    for (const { number, samples } of lives) {
      if (samples.length < ENOUGH) continue;
      const values = samples.map((sample) => sample[measure]);
      const quarter = Math.floor(values.length / 4);
      const parts = [values.slice(quarter, 2 * quarter), values.slice(-quarter)];
      judge(`life ${number}`, measure, parts);
    }
    const whole = lives.filter(({ samples }) => samples.length > 1);
    const third = Math.floor(whole.length / 3);
    const parts = [whole.slice(0, third), whole.slice(whole.length - third)];
    // What a daemon has open in its first seconds says nothing of growth: it has just got the whole storm.
    if (parts.every((part) => part.flatMap(({ samples }) => samples).length >= ENOUGH)) {
      const medianOf = ({ samples }: Life) => median(samples.map((sample) => sample[measure]));
      judge("all lives", measure, parts.map((part) => part.map(medianOf)));
    }
  }
  return found;
}

/** A table with a line for each life. */
export function tableOf(lives: readonly Life[]): string {
  const header =
    "life  samples   RSS MB: first median   last    max   descriptors: first median last max";
  const lines = lives.filter(({ samples }) => samples.length > 0).map(({ number, samples }) => {
    const cells = MEASURES.map((measure) => {
      const values = samples.map((sample) => sample[measure]);
      return [values[0] ?? 0, median(values), values.at(-1) ?? 0, Math.max(...values)]
        .map((value) => value.toFixed(0));
    });
    const [memory = [], open = []] = cells;
    return [
      String(number).padStart(4),
      String(samples.length).padStart(9),
      "        ",
      ...memory.map((cell) => cell.padStart(7)),
      "        ",
      ...open.map((cell) => cell.padStart(6)),
    ].join("");
  });
  return [header, ...lines].join("\n");
}

/**
 * The memory of a life as the medians of ten parts, so that a line shows whether it keeps growing.
 */
export function courseOf({ number, samples }: Life): string {
  const parts = Array.from({ length: 10 }, (_, n) => {
    const [from, to] = [n, n + 1].map((at) => Math.floor((at * samples.length) / 10));
    return median(samples.slice(from, to).map(({ residentMb }) => residentMb));
  });
  return `life ${number} in ten parts, RSS MB: ${parts.map((mb) => mb.toFixed(0)).join(" ")}`;
}
