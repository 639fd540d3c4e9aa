/**
 * What a task asks to do at a platform, against what its plan allows.
 *
 * @module
 */

import type { OutputName } from "../resources/may.ts";

/** What is left of one output in a task. */
export interface OutputLeft {
  readonly output: OutputName;
  /** Most units in one task; `null` where any number is allowed. */
  readonly max: number | null;
  /** Units that count already: the keys of pull requests, the ids of other messages. */
  readonly used: readonly string[];
}
