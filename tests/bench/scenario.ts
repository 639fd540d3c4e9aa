/**
 * What a scenario of the bench is, and what it gives.
 *
 * @module
 */

import type { Program } from "../helpers/program.ts";
import type { LoadClient } from "./load.ts";

/** Something that was measured. */
export interface Figure {
  /** What. */
  readonly name: string;
  /** Of what: `/s`, `ms`, `MB`, or `×` for a ratio of two measurements of the same run. */
  readonly unit: "/s" | "ms" | "MB" | "×" | "";
  /** Every measurement; the figure is their median. */
  readonly samples: readonly number[];
  /** What it has to reach, or must not exceed. */
  readonly target?: { readonly atLeast: number } | { readonly atMost: number };
}

/** How to measure. */
export interface BenchContext {
  /** How often everything is measured, at least three times. */
  readonly rounds: number;
  /** How long one measurement takes. */
  readonly seconds: number;
  /** `quick` shows whether the bench works, `long` has the ten minutes of mixed load. */
  readonly size: "quick" | "usual" | "long";
  /** The svc that is measured: the compiled one where it can be built. */
  readonly program: Program;
  /** svc from the sources. */
  readonly source: Program;
  /** The compiled svc, where it can be built. */
  readonly compiled: Program | undefined;
  /** Makes requests. */
  readonly load: LoadClient;
  /** Tells whoever waits what goes on. */
  readonly note: (text: string) => void;
}

/** One part of the bench. */
export interface Scenario {
  /** For `--only`. */
  readonly name: string;
  /** What it shows, in a few words. */
  readonly title: string;
  /** Measures. */
  readonly run: (context: BenchContext) => Promise<readonly Figure[]>;
}
