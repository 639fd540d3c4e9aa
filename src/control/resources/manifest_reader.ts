/**
 * Decides where manifests are read, so that none can stall the daemon: a few documents of built-in
 * kinds are read at once; large inputs, and those that a user's schema validates, in a process that
 * is killed at a deadline. Patterns, references and alternatives of a schema can take any time, and
 * no Worker can be stopped in them (docs/decisions/0003-workers-cannot-be-stopped.md).
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { utf8 } from "../../base/bytes.ts";
import { AppError } from "../../base/errors.ts";
import { CRD_KIND } from "../../resources/custom_resource_definition.ts";
import { KINDS } from "../../resources/kinds.ts";
import type { ManifestDocument } from "../../resources/manifest.ts";
import {
  type ManifestInput,
  type ManifestsRead,
  parseFiles,
  readManifests,
} from "../../resources/read_manifests.ts";
import { Capture } from "../../shell/capture.ts";
import type { ProcessGroups } from "../../shell/process_groups.ts";
import { runShell } from "../../shell/run_shell.ts";

/** Most characters that are read in this process; they take some 20 ms. */
const MAX_INLINE_CHARS = 16 * 1024;

/** Most inputs that wait, each of which can have megabytes. */
const MAX_WAITING = 8;

/** Deadline of a read: a base, more for each 100,000 characters, and a maximum. */
const TIME = { baseMs: 10_000, moreMs: 10_000, mostMs: 300_000 };

/** Most bytes of an answer. */
const MAX_ANSWER_BYTES = 512 * 1024 * 1024;
const MAX_MESSAGE_BYTES = 4096;

/** Kinds whose schemas come with the program. */
const BUILT_IN = new Set(KINDS.map(({ kind }) => kind).filter((kind) => kind !== CRD_KIND));

export interface ManifestReaderOptions {
  /** Path of the program `svc`, which reads in a process of its own. */
  readonly program: string;
  readonly groups: ProcessGroups;
  readonly clock: Clock;
  /** Base deadline in milliseconds; 10 s when absent. */
  readonly baseMs?: number;
}

/** Reads manifests without blocking the event loop. */
export class ManifestReader implements Disposable {
  readonly #options: ManifestReaderOptions;
  readonly #closing = new AbortController();
  #waiting = 0;
  #tail: Promise<unknown> = Promise.resolve();

  /** Its process runs only while it reads. */
  constructor(options: ManifestReaderOptions) {
    this.#options = options;
  }

  /**
   * Reads an input.
   *
   * @throws {AppError} `invalid` when it takes too long, `overloaded` when too many wait.
   */
  async read(input: ManifestInput): Promise<ManifestsRead> {
    const length = input.files.reduce((sum, { text }) => sum + text.length, 0);
    if (length <= MAX_INLINE_CHARS) {
      const parsed = parseFiles(input.files);
      if (parsed.documents.every(isBuiltIn)) return readManifests(input, parsed);
    }
    if (this.#waiting >= MAX_WAITING) {
      throw new AppError("overloaded", "Too many manifests are being read, try again in a moment");
    }
    this.#waiting++;
    const { baseMs = TIME.baseMs } = this.#options;
    const timeoutMs = Math.min(baseMs + length / 100_000 * TIME.moreMs, TIME.mostMs);
    const read = this.#tail.then(() => this.#readApart(input, timeoutMs)).finally(() => {
      this.#waiting--;
    });
    this.#tail = read.catch(() => {});
    return await read;
  }

  /** Ends the process; reads under way are rejected with `overloaded`. */
  [Symbol.dispose](): void {
    this.#closing.abort();
  }

  async #readApart(input: ManifestInput, timeoutMs: number): Promise<ManifestsRead> {
    const { program } = this.#options;
    const { signal } = this.#closing;
    const out = new Capture(MAX_ANSWER_BYTES);
    const err = new Capture(MAX_MESSAGE_BYTES);
    const { code, endedFor } = await runShell({
      line: 'exec "$1" read-manifests',
      args: [program],
      cwd: "/",
      env: { PATH: "/usr/bin:/bin" },
      stdin: utf8(JSON.stringify(input)),
      umask: 0o077,
      timeoutMs,
      graceMs: 0,
      signal,
      onOutput: (stream, chunk) => (stream === "out" ? out : err).add(chunk),
    }, this.#options);
    if (signal.aborted) throw new AppError("overloaded", "The daemon is stopping");
    if (endedFor === "timeout") {
      throw new AppError(
        "invalid",
        `Nothing was applied: reading took longer than ${Math.ceil(timeoutMs / 1000)} seconds. ` +
          "Split the input, or look for a pattern in a schema that takes so long",
      );
    }
    const text = new TextDecoder();
    if (code === 0 && !out.overflowed) return JSON.parse(text.decode(out.bytes()));
    const why = text.decode(err.bytes()).trim() || `exit code ${code}`;
    throw new AppError("refused", `Nothing was applied: ${program} could not read it: ${why}`);
  }
}

function isBuiltIn({ value }: ManifestDocument): boolean {
  const kind = (value as { kind?: unknown } | null)?.kind;
  return typeof kind !== "string" || BUILT_IN.has(kind);
}
