/**
 * `watch`: several subjects in one stream. Each goes on by itself, and what is wrong with one is a
 * line of that one.
 *
 * @module
 */

import type { WatchLine } from "../api/resource_operations.ts";
import { type Input, type OperationName, OPERATIONS } from "../api/operations.ts";
import type { Stats, Status } from "../api/status_operations.ts";
import type { Watched, WatchedLine, WatchedList, WatchSubject } from "../api/watch_operations.ts";
import { checkCaller } from "../auth/authorize.ts";
import type { Caller } from "../auth/caller.ts";
import type { Clock } from "../base/clock.ts";
import { AppError, toAppError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { mergedStreams } from "../base/merged_streams.ts";
import { recordType } from "./records/records.ts";
import { type ResolveHost, resolveId } from "./records/resolve.ts";
import type { StatusHost } from "./records/status.ts";
import { stats, type StatsHost } from "./stats.ts";
import { StatusWatch } from "./status_watch.ts";
import { type LogSubject, watchLog } from "./tasks/log_watch.ts";
import type { LogsHost } from "./tasks/task_logs.ts";
import type { ListLine, Watches } from "./watch.ts";

/** Time after which an empty line shows that the stream is alive. */
const KEEPALIVE_MS = 15_000;
/** Time between two looks at the figures. */
const FIGURES_MS = 5000;

/** What {@linkcode SubjectWatch} needs. */
export type SubjectsHost = StatusHost & StatsHost & LogsHost & Pick<ResolveHost, "store"> & {
  readonly log: Log;
};

/** Sorts of subjects, each with the operation whose access it needs. */
const SORTS = {
  get: "get",
  task: "task",
  log: "task.log.read",
  status: "status",
  stats: "stats",
} as const satisfies {
  readonly [Sort in Exclude<keyof WatchSubject, "key" | "step" | "after">]: OperationName;
};
type Sort = keyof typeof SORTS;

/** Watches subjects, for all who ask. */
export class SubjectWatch {
  readonly #host: SubjectsHost;
  readonly #watches: Watches;
  readonly #status: StatusWatch;

  /** Looks at nothing before somebody watches. */
  constructor(host: SubjectsHost, watches: Watches) {
    this.#host = host;
    this.#watches = watches;
    this.#status = new StatusWatch(host);
  }

  /**
   * Yields what the subjects are now, and what changes, until `signal` aborts.
   *
   * @throws {AppError} `usage` for subjects that say nothing or too much, `forbidden` as the
   * operations that they stand for.
   */
  async *watch(
    { subjects }: Input<"watch">,
    caller: Caller,
    signal: AbortSignal,
  ): AsyncGenerator<WatchedLine> {
    const stop = new AbortController();
    const ended = AbortSignal.any([signal, stop.signal]);
    checkKeys(subjects);
    const streams = subjects.map((subject) => {
      checkCaller(OPERATIONS[SORTS[sortOf(subject)]], caller);
      return this.#lines(subject, this.#follow(subject, { caller, signal: ended }));
    });
    yield* mergedStreams<WatchedLine>(
      [...streams, signsOfLife(this.#host.clock, ended)],
      () => stop.abort(),
    );
  }

  /** An error ends one subject, and is told. */
  async *#lines(
    { key }: WatchSubject,
    found: AsyncGenerator<Watched>,
  ): AsyncGenerator<WatchedLine> {
    try {
      for await (const each of found) yield { key, ...each };
    } catch (thrown) {
      const { code, message } = toAppError(thrown);
      if (code === "internal") this.#host.log.error("a watch failed", { error: thrown });
      yield { key, error: { code, message } };
    }
  }

  async *#log(
    name: string,
    from: Omit<LogSubject, "id">,
    signal: AbortSignal,
  ): AsyncGenerator<Watched> {
    const id = await resolveId(recordType("task"), name, this.#host);
    yield* watchLog({ id, ...from }, this.#host, signal);
  }

  #follow(
    { get, task, log, step, after, stats: figures }: WatchSubject,
    { caller, signal }: { readonly caller: Caller; readonly signal: AbortSignal },
  ): AsyncGenerator<Watched> {
    if (get !== undefined) return watchList(get, this.#watches.list(get, signal, after));
    if (task !== undefined) {
      return watchTask(task, this.#watches.lines({ what: "task", name: task }, signal));
    }
    if (log !== undefined) {
      return this.#log(
        log,
        { step, after: after === undefined ? undefined : byteOf(after) },
        signal,
      );
    }
    if (figures !== undefined) return watchStats(figures, this.#host, signal);
    return watchStatus(this.#status.watch(caller, signal));
  }
}

/** Tells what is in the list, and what is no longer. */
async function* watchList(
  { state: wanted }: { readonly state?: string },
  lines: AsyncGenerator<ListLine>,
): AsyncGenerator<WatchedList> {
  let told: string | undefined;
  let isFirst = true;
  for await (const { items, names, deleted, whole, cursor } of lines) {
    const isIn = items.map(({ state }) => wanted === undefined || state === wanted);
    const line = {
      items: items.filter((_, at) => isIn[at]),
      names: names.filter((_, at) => isIn[at]),
      deleted: [...deleted, ...names.filter((_, at) => !isIn[at])],
      whole,
    };
    // A keepalive says how far it is, so that a later stream has little to ask for.
    if (!isFirst && names.length + deleted.length === 0 && cursor === told && !whole) continue;
    [isFirst, told] = [false, cursor];
    yield cursor === undefined ? line : { ...line, cursor };
  }
}

/** The place in a log that a cursor says. */
function byteOf(cursor: string): number {
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor);
  throw new AppError("usage", `"${cursor}" is not the cursor of a log line`);
}

async function* watchTask(
  name: string,
  lines: AsyncGenerator<WatchLine>,
): AsyncGenerator<{ readonly task: Readonly<Record<string, unknown>> }> {
  for await (const { items, deleted } of lines) {
    for (const task of items) yield { task };
    if (deleted.length > 0) throw new AppError("not_found", `Task "${name}" was removed`);
  }
}

/** Again when something has come that they count, and when another minute begins. */
async function* watchStats(
  input: Input<"stats">,
  host: SubjectsHost,
  signal: AbortSignal,
): AsyncGenerator<{ readonly stats: Stats }> {
  for (let told = ""; !signal.aborted;) {
    const figures = stats(input, host);
    const text = JSON.stringify(figures);
    if (text !== told) yield { stats: figures };
    told = text;
    await host.clock.pause(FIGURES_MS, signal);
  }
}

async function* watchStatus(states: AsyncGenerator<Status>): AsyncGenerator<{ status: Status }> {
  for await (const status of states) yield { status };
}

async function* signsOfLife(clock: Clock, signal: AbortSignal): AsyncGenerator<WatchedLine> {
  for (;;) {
    await clock.pause(KEEPALIVE_MS, signal);
    if (signal.aborted) return;
    yield {};
  }
}

/** What a subject is: one of the {@linkcode SORTS}. */
function sortOf(subject: WatchSubject): Sort {
  const sorts = (Object.keys(SORTS) as Sort[]).filter((sort) => subject[sort] !== undefined);
  const [sort] = sorts;
  if (sort !== "log" && subject.step !== undefined) {
    throw new AppError("usage", `The subject "${subject.key}" has step, which is for a log`);
  }
  if (sort !== "log" && sort !== "get" && subject.after !== undefined) {
    const which = `The subject "${subject.key}" has after`;
    throw new AppError("usage", `${which}, which is for a list or a log: give get or log with it`);
  }
  if (sort !== undefined && sorts.length === 1) return sort;
  const found = sorts.length === 0 ? "none of them" : sorts.join(" and ");
  throw new AppError(
    "usage",
    `The subject "${subject.key}" has ${found}: give exactly one of ${
      Object.keys(SORTS).join(", ")
    }`,
  );
}

function checkKeys(subjects: readonly WatchSubject[]): void {
  const keys = subjects.map(({ key }) => key);
  const twice = keys.find((key, at) => keys.indexOf(key) !== at);
  if (twice === undefined) return;
  throw new AppError("usage", `Two subjects have the key "${twice}": give each its own`);
}
