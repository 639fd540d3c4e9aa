/**
 * What a scenario of the bench is, and what it gives.
 *
 * @module
 */

import type { Program } from "../../tests/helpers/program.ts";
import type { LoadClient } from "./load.ts";

/** What has to be reached, or must not be exceeded. */
export type Target = { readonly atLeast: number } | { readonly atMost: number };

/** What a figure is, whatever came out. */
export interface FigureKind {
  readonly name: string;
  /** Of what: `×` is a ratio of two measurements; empty for a number of things. */
  readonly unit: "/s" | "ms" | "µs" | "MB" | "×" | "";
  /** What it has to reach, or must not exceed. */
  readonly target?: Target;
  /** The same for its ratio to that of the earlier program. */
  readonly change?: Target;
  /** It is for `results.json` only. */
  readonly detail?: boolean;
}

/** Something that was measured. */
export interface Figure extends FigureKind {
  /** Every measurement; the figure is their median. NaN: cannot be measured here. */
  readonly samples: readonly number[];
  /** The same of the earlier program, each beside its counterpart. */
  readonly before?: readonly number[];
}

export interface BenchContext {
  /** How often everything is started anew and measured. */
  readonly rounds: number;
  /** How long one measurement takes. */
  readonly seconds: number;
  /** `quick` shows whether the bench works, `long` has the ten minutes of mixed load. */
  readonly size: "quick" | "usual" | "long";
  /** The svc that is measured: the compiled one where it can be built. */
  readonly program: Program;
  /** An earlier svc, measured in turn with it (`--baseline`). */
  readonly baseline: Program | undefined;
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
  readonly run: (context: BenchContext) => Promise<readonly Figure[]>;
}
