/**
 * A call and how an attempt at it ends: what the two sides agree on that know of each other only
 * this. `calls/` talks to the caller, and is given the `Attempt` that runs commands
 * (`cli/attempt.ts`).
 *
 * @module
 */

import type { Grant } from "../auth/run_tokens.ts";
import type { DataDir } from "../base/data_dir.ts";
import type { ControlAnswers } from "./control_answers.ts";

/** A call, and what its caller has said so far. */
export interface Call {
  readonly args: readonly string[];
  readonly run: Grant;
  readonly token: string;
  /** By name; `undefined` for one that is not set. */
  readonly variables: Map<string, string | undefined>;
  /** Standard input, once it has been asked for. */
  input?: Uint8Array | undefined;
  /** What the control plane has answered so far. */
  readonly answers: ControlAnswers;
}

/** What a command wrote, in order, and its exit code. */
export interface Answered {
  readonly writes: readonly Written[];
  readonly code: number;
}

/** One write. */
export interface Written {
  readonly to: "out" | "err";
  readonly bytes: Uint8Array;
}

/** How an attempt ended. */
export type Attempted =
  | { readonly answer: Answered }
  /** Only the program can do this. */
  | { readonly unserved: true }
  /** Values of these are needed. */
  | { readonly variables: readonly string[] }
  | { readonly input: true };

/** Runs the command of a call, as far as it can be. Its failures are answers. */
export type Attempt = (call: Call, dirs: DataDir) => Promise<Attempted>;
