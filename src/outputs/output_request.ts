/**
 * What a task asks to do at a platform, against what its plan allows.
 *
 * @module
 */

import type { OutputName } from "../resources/may.ts";

/** What is left of one output in a task. */
export interface OutputLeft {
  readonly output: OutputName;
  readonly max: number;
  /** Units that count already: the keys of pull requests, the ids of other messages. */
  readonly used: readonly string[];
}
