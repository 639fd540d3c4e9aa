/**
 * A call, and how an attempt to run its command ends. `calls/` speaks with the caller, and
 * `cli/attempt.ts` runs the command; these types are all that they know of each other.
 *
 * @module
 */

import type { Grant } from "../auth/run_tokens.ts";
import type { DataDir } from "../base/data_dir.ts";
import type { ControlAnswers } from "./control_answers.ts";

/** A call, with the answers of its caller so far. */
export interface Call {
  readonly args: readonly string[];
  /** The run whose token the caller has sent. */
  readonly run: Grant;
  readonly token: string;
  /** The variables that the caller was asked for; `undefined` for one that is not set. */
  readonly variables: Map<string, string | undefined>;
  /** Standard input, once the caller was asked for it. */
  input?: Uint8Array | undefined;
  /** The answers of the control plane so far. */
  readonly answers: ControlAnswers;
}

/** The output of a command, in order, and its exit code. */
export interface CommandOutput {
  readonly chunks: readonly OutputChunk[];
  readonly code: number;
}

/** One write to standard output or standard error. */
export interface OutputChunk {
  readonly to: "out" | "err";
  readonly bytes: Uint8Array;
}

/** The end of an attempt: the output, a question to the caller, or a call that is not served. */
export type AttemptResult =
  | { readonly output: CommandOutput }
  /** The caller is asked for these variables. */
  | { readonly variables: readonly string[] }
  /** The caller is asked for its standard input. */
  | { readonly input: true }
  /** Only the program can do this. */
  | { readonly unserved: true };

/**
 * Runs the command of a call with what the call knows so far. A command that fails has an output,
 * too.
 */
export type Attempt = (call: Call, dirs: DataDir) => Promise<AttemptResult>;
