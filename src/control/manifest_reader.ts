/**
 * Decides where manifests are read, so that none can stall the daemon: a few documents of built-in
 * kinds at once; large ones, and whatever a schema of the user's decides about, in a Worker that may
 * touch nothing and is ended at a deadline. Patterns, references and alternatives of a schema can take
 * any time, and the YAML library takes seconds for megabytes.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import { type Outcome, TimedWorker } from "../base/timed_worker.ts";
import { CRD_KIND } from "../resources/custom_resource_definition.ts";
import { KINDS } from "../resources/kinds.ts";
import type { ManifestDocument } from "../resources/manifest.ts";
import {
  type ManifestInput,
  type ManifestsRead,
  parseFiles,
  readManifests,
} from "../resources/read_manifests.ts";

/** What the Worker says. */
export type ManifestAnswer = { readonly read: ManifestsRead } | { readonly error: string };

/** Most characters that are read at once; they take some 20 ms. */
const SMALL = 16 * 1024;

/** Most inputs that wait for the Worker, each of which can have megabytes. */
const MAX_WAITING = 8;

/** What reading may take: so much for any input, for each 100,000 characters of it, and at most. */
const TIME = { baseMs: 10_000, moreMs: 10_000, mostMs: 300_000 };

/** Kinds whose schemas are ours. */
const BUILT_IN = new Set(KINDS.map(({ kind }) => kind).filter((kind) => kind !== CRD_KIND));

/** Reads manifests without ever holding up the event loop. */
export class ManifestReader implements Disposable {
  readonly #worker: TimedWorker<ManifestInput, ManifestAnswer>;
  readonly #baseMs: number;
  #waiting = 0;
  #tail: Promise<unknown> = Promise.resolve();

  /** A reader whose Worker is there only while it reads; `baseMs` is what any input may take. */
  constructor({ baseMs = TIME.baseMs }: { readonly baseMs?: number } = {}) {
    this.#baseMs = baseMs;
    this.#worker = new TimedWorker(startWorker);
  }

  /**
   * Reads an input.
   *
   * @throws {AppError} `invalid` when it takes too long, `overloaded` when too many wait.
   */
  async read(input: ManifestInput): Promise<ManifestsRead> {
    const length = input.files.reduce((sum, { text }) => sum + text.length, 0);
    if (length <= SMALL) {
      const parsed = parseFiles(input.files);
      if (parsed.documents.every(isBuiltIn)) return readManifests(input, parsed);
    }
    if (this.#waiting >= MAX_WAITING) {
      throw new AppError("overloaded", "Too many manifests are being read, try again in a moment");
    }
    this.#waiting++;
    const deadlineMs = Math.min(this.#baseMs + length / 100_000 * TIME.moreMs, TIME.mostMs);
    const outcome = this.#tail.then(() => this.#worker.ask(input, deadlineMs)).finally(() => {
      if (--this.#waiting === 0) this.#worker.rest();
    });
    this.#tail = outcome.catch(() => {});
    return toRead(await outcome, deadlineMs);
  }

  /** Ends the Worker; who waits is told. */
  [Symbol.dispose](): void {
    this.#worker[Symbol.dispose]();
  }
}

function isBuiltIn({ value }: ManifestDocument): boolean {
  const kind = (value as { kind?: unknown } | null)?.kind;
  return typeof kind !== "string" || BUILT_IN.has(kind);
}

function toRead(outcome: Outcome<ManifestAnswer>, deadlineMs: number): ManifestsRead {
  switch (outcome.is) {
    case "answered":
      if ("read" in outcome.answer) return outcome.answer.read;
      throw new Error(`Manifests could not be read: ${outcome.answer.error}`);
    case "late":
      throw new AppError(
        "invalid",
        `Nothing was applied: reading took longer than ${Math.ceil(deadlineMs / 1000)} seconds. ` +
          "Split the input, or look for a pattern in a schema that takes so long",
      );
    case "failed":
      throw new AppError("invalid", `Nothing was applied: reading failed: ${outcome.message}`);
    case "closed":
      throw new AppError("overloaded", "The daemon is stopping");
  }
}

/** Variables that the YAML library asks for. */
const YAML_DEBUGGING = ["LOG_TOKENS", "LOG_STREAM"];

function startWorker(): Worker {
  return new Worker(import.meta.resolve("#manifest-worker"), {
    type: "module",
    deno: { permissions: { env: YAML_DEBUGGING } },
  });
}
