/**
 * Runs git for svc itself, in a repository that svc has made: with a `PATH` and no other variable of the
 * daemon, no configuration of the machine or a user, no prompt, and within bounds.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import { plainOutput } from "../base/output_text.ts";
import type { ProgramLine } from "../shell/ask_program.ts";
import {
  type ProgramOutput,
  type RunningProgram,
  runProgram,
  startProgram,
} from "../shell/run_program.ts";

/** A repository, and how git runs in it. */
export interface GitPlace {
  /** Its directory, where git works. */
  readonly directory: string;
  /** Where git is looked for. */
  readonly path: string;
  /** Longest time of one git, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly clock: Pick<Clock, "after">;
}

/** What one git reads, and how much of its output counts. */
export interface GitInput {
  readonly input?: Uint8Array<ArrayBuffer>;
  /** Path of the file that it reads instead. */
  readonly inputFile?: string;
  /** Most bytes of its output; 1 MiB if absent. */
  readonly maxBytes?: number;
}

const MAX_BYTES = 1024 * 1024;

/**
 * Larger objects are streamed instead of held in memory: a small pack can unpack to gigabytes. One that
 * is a difference to another has to be held, see `GIT_ALLOC_LIMIT`, so git holds only one such at once.
 */
const SMALL = [
  ["core.bigFileThreshold", "1m"],
  ["core.deltaBaseCacheLimit", "16m"],
  ["pack.threads", "1"],
].flatMap(([name, value]) => ["-c", `${name}=${value}`]);

function lineOf(args: readonly string[]): ProgramLine {
  return ["git", ...SMALL, ...args];
}

function hostOf({ directory, path, timeoutMs, signal }: GitPlace) {
  const env = {
    PATH: path,
    LC_ALL: "C",
    TZ: "UTC",
    HOME: directory,
    GIT_DIR: directory,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_ATTR_NOSYSTEM: "1",
    GIT_NO_REPLACE_OBJECTS: "1",
    GIT_NO_LAZY_FETCH: "1",
    GIT_TERMINAL_PROMPT: "0",
    // Most bytes that it takes at once: a few bytes of a pack can say that an object has gigabytes.
    GIT_ALLOC_LIMIT: "64m",
  };
  return { cwd: directory, env, timeoutMs, signal };
}

/**
 * Runs git to its end; its exit code is for the caller to judge.
 *
 * @throws {AppError} `invalid` if git is not installed, `timeout` or `overloaded` if it was ended.
 */
export async function runGit(
  place: GitPlace,
  args: readonly string[],
  { maxBytes = MAX_BYTES, ...input }: GitInput = {},
): Promise<ProgramOutput> {
  const run = { ...hostOf(place), ...input, line: lineOf(args), maxBytes };
  const ended = await runProgram(run, place.clock);
  if (ended.code === 127) throw new AppError("invalid", "git is not installed, install it");
  if (ended.endedFor === "timeout") {
    throw new AppError("timeout", `git took longer than ${place.timeoutMs / 1000} seconds`);
  }
  if (ended.endedFor === "signal") throw new AppError("overloaded", "git was stopped");
  return ended;
}

/**
 * Runs a git that has to succeed; `what` names what it prints, for the case that there is too much of it.
 *
 * @throws {AppError} `refused`, `too_large`, and what {@linkcode runGit} throws.
 */
export async function mustGit(
  place: GitPlace,
  args: readonly string[],
  { what = "output", ...input }: GitInput & { readonly what?: string } = {},
): Promise<ProgramOutput> {
  const ended = await runGit(place, args, input);
  if (ended.endedFor === "output") {
    throw new AppError("too_large", `The change has too many ${what}`);
  }
  if (ended.code === 0) return ended;
  throw new AppError("refused", `git cannot read the change: ${wordsOfGit(ended.err)}`);
}

/** What git says, on one line. */
export function wordsOfGit(err: string): string {
  const lines = err.split("\n").map((line) => line.replace(/^(fatal|error): /, ""));
  return plainOutput(lines.join("; "), 300);
}

/** Starts a git that answers what is written to it. */
export function startGit(place: GitPlace, args: readonly string[]): RunningProgram {
  return startProgram({ ...hostOf(place), line: lineOf(args) }, place.clock);
}
