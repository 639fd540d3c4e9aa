/**
 * The type of a scenario of the bench, and of its figures.
 *
 * @module
 */

import type { Program } from "../../tests/helpers/program.ts";
import type { LoadClient } from "./load.ts";

/** A value that must be reached, or must not be exceeded. */
export type Target = { readonly atLeast: number } | { readonly atMost: number };

/** The meaning of a figure, without its values. */
export interface FigureKind {
  readonly name: string;
  /** The unit: `×` is a ratio of two measurements; empty for a count. */
  readonly unit: "/s" | "ms" | "µs" | "MB" | "MB/s" | "×" | "";
  /** The target of the figure. */
  readonly target?: Target;
  /** The target of the ratio to the earlier program's figure. */
  readonly change?: Target;
  /** Set if the figure goes into `results.json` only. */
  readonly detail?: boolean;
  /** Set if the figure goes into the docs although it has no target. */
  readonly inDocs?: boolean;
}

/** A figure with its measurements. */
export interface Figure extends FigureKind {
  /** The measurements, whose median is the figure; NaN if it cannot be measured here. */
  readonly samples: readonly number[];
  /** The measurements of the earlier program, in the same order. */
  readonly before?: readonly number[];
}

export interface BenchContext {
  /** Number of rounds; each starts everything anew. */
  readonly rounds: number;
  /** Duration of a measurement. */
  readonly seconds: number;
  /** `quick` shows whether the bench works, `long` has the ten minutes of mixed load. */
  readonly size: "quick" | "usual" | "long";
  /** The measured svc: the compiled one if it can be built. */
  readonly program: Program;
  /** An earlier svc, measured in turn with the other (`--baseline`). */
  readonly baseline: Program | undefined;
  readonly load: LoadClient;
  /** Prints a message about the progress. */
  readonly note: (text: string) => void;
}

export interface Scenario {
  /** The name for `--only`. */
  readonly name: string;
  /** The subject of the scenario in a few words. */
  readonly title: string;
  readonly run: (context: BenchContext) => Promise<readonly Figure[]>;
}
