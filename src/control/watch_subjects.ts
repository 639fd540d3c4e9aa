/**
 * `watch`: several subjects in one stream. Each is watched by itself, so an error of one subject is
 * a line of that subject.
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
import type { Core } from "../base/core.ts";
import { defined } from "../base/defined.ts";
import { AppError, toAppError } from "../base/errors.ts";
import { mergedStreams } from "../base/merged_streams.ts";
import { recordType } from "./records/records.ts";
import { type ResolveHost, resolveId } from "./records/resolve.ts";
import { type DaemonStatus, daemonStatus, type StatusHost, withCaller } from "./records/status.ts";
import { stats, type StatsHost } from "./stats.ts";
import { type LogSubject, watchLog } from "./tasks/log_watch.ts";
import type { LogsHost } from "./tasks/followed_log.ts";
import type { ListLine, Watches } from "./watch.ts";

/** Time after which an empty line shows that the stream is alive. */
const KEEPALIVE_MS = 15_000;
/** Time between two reads of the figures. */
const FIGURES_MS = 5000;
/** Shortest time between two reads of the state of the daemon. */
const STATUS_SPACING_MS = 2000;

/** A daemon whose subjects are watched. */
export type SubjectsHost = Core & StatusHost & StatsHost & LogsHost & Pick<ResolveHost, "store">;

/** Kinds of subjects, each with the operation whose access it needs. */
const KINDS = {
  get: "get",
  task: "task",
  log: "task.log.read",
  status: "status",
  stats: "stats",
} as const satisfies {
  readonly [Kind in Exclude<keyof WatchSubject, "key" | "step" | "raw" | "after">]: OperationName;
};
type Kind = keyof typeof KINDS;

/** The subjects of one daemon, for every stream that watches some of them. */
export class SubjectWatch {
  readonly #host: SubjectsHost;
  readonly #watches: Watches;
  readonly #status: StatusReader;

  /** Reads nothing before the first watch. */
  constructor(host: SubjectsHost, watches: Watches) {
    this.#host = host;
    this.#watches = watches;
    this.#status = new StatusReader(host);
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
      checkCaller(OPERATIONS[KINDS[kindOf(subject)]], caller);
      return this.#lines(subject, this.#follow(subject, { caller, signal: ended }));
    });
    yield* mergedStreams<WatchedLine>(
      [...streams, keepalives(this.#host.clock, ended)],
      () => stop.abort(),
    );
  }

  /** An error ends this subject, and is its last line. */
  async *#lines(
    { key }: WatchSubject,
    updates: AsyncGenerator<Watched>,
  ): AsyncGenerator<WatchedLine> {
    try {
      for await (const update of updates) yield { key, ...update };
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
    { get, task, log, step, raw, after, stats: figures }: WatchSubject,
    { caller, signal }: { readonly caller: Caller; readonly signal: AbortSignal },
  ): AsyncGenerator<Watched> {
    if (get !== undefined) return watchList(get, this.#watches.list(get, signal, after));
    if (task !== undefined) {
      return watchTask(task, this.#watches.lines({ what: "task", name: task }, signal));
    }
    if (log !== undefined) {
      return this.#log(
        log,
        { step, raw, after: after === undefined ? undefined : byteOf(after) },
        signal,
      );
    }
    if (figures !== undefined) return watchStats(figures, this.#host, signal);
    return watchStatus(this.#status, { caller, signal, clock: this.#host.clock });
  }
}

/** Yields the list, then what is added, changed or removed. */
async function* watchList(
  query: { readonly state?: string },
  lines: AsyncGenerator<ListLine>,
): AsyncGenerator<WatchedList> {
  let lastCursor: string | undefined;
  let isFirst = true;
  for await (const { items, names, deleted, whole, cursor } of lines) {
    const isIn = items.map(({ state }) => query.state === undefined || state === query.state);
    const line = {
      items: items.filter((_, at) => isIn[at]),
      names: names.filter((_, at) => isIn[at]),
      deleted: [...deleted, ...names.filter((_, at) => !isIn[at])],
      whole,
    };
    // A line without news is sent for its cursor, so that a later stream has less to catch up on.
    const isNews = whole || names.length + deleted.length > 0 || cursor !== lastCursor;
    if (!isFirst && !isNews) continue;
    [isFirst, lastCursor] = [false, cursor];
    yield { ...line, ...defined({ cursor }) };
  }
}

/** The byte of a log up to which a stream with this cursor has read. */
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

/** Yields the figures again when they have changed. */
async function* watchStats(
  input: Input<"stats">,
  host: SubjectsHost,
  signal: AbortSignal,
): AsyncGenerator<{ readonly stats: Stats }> {
  for (let known = ""; !signal.aborted;) {
    const figures = stats(input, host);
    const text = JSON.stringify(figures);
    if (text !== known) yield { stats: figures };
    known = text;
    await host.clock.pause(FIGURES_MS, signal);
  }
}

/** Yields the state of the daemon again when it has changed, apart from the current time. */
async function* watchStatus(
  reader: StatusReader,
  { caller, signal, clock }: {
    readonly caller: Caller;
    readonly signal: AbortSignal;
    readonly clock: Clock;
  },
): AsyncGenerator<{ readonly status: Status }> {
  for (let known = ""; !signal.aborted;) {
    const status = await reader.read();
    const { time: _time, uptime_secs: _uptime, nodes, ...rest } = status;
    const { lease_until: _lease, ...others } = nodes ?? {};
    const text = JSON.stringify([rest, others]);
    if (text !== known) yield { status: withCaller(status, caller) };
    known = text;
    await clock.pause(reader.nextAt - clock.monotonicMs(), signal);
  }
}

/** Reads the state of the daemon once for all streams that watch it. */
class StatusReader {
  readonly #host: StatusHost;
  #status: Promise<DaemonStatus> | undefined;
  /** When it is read again, in milliseconds of the monotonic clock. */
  nextAt = -Infinity;

  constructor(host: StatusHost) {
    this.#host = host;
  }

  /** The state as it was a short time ago, or is now. */
  read(): Promise<DaemonStatus> {
    const now = this.#host.clock.monotonicMs();
    if (this.#status === undefined || now >= this.nextAt) {
      this.nextAt = now + STATUS_SPACING_MS;
      this.#status = daemonStatus(this.#host);
    }
    return this.#status;
  }
}

async function* keepalives(clock: Clock, signal: AbortSignal): AsyncGenerator<WatchedLine> {
  for (;;) {
    await clock.pause(KEEPALIVE_MS, signal);
    if (signal.aborted) return;
    yield {};
  }
}

/** The kind of a subject, which has to be exactly one. */
function kindOf(subject: WatchSubject): Kind {
  const kinds = (Object.keys(KINDS) as Kind[]).filter((kind) => subject[kind] !== undefined);
  const [kind] = kinds;
  const ofLog = (["step", "raw"] as const).find((name) => subject[name] !== undefined);
  if (kind !== "log" && ofLog !== undefined) {
    throw new AppError("usage", `The subject "${subject.key}" has ${ofLog}, which is for a log`);
  }
  if (kind !== "log" && kind !== "get" && subject.after !== undefined) {
    const which = `The subject "${subject.key}" has after`;
    throw new AppError("usage", `${which}, which is for a list or a log: give get or log with it`);
  }
  if (kind !== undefined && kinds.length === 1) return kind;
  const given = kinds.length === 0 ? "none of them" : kinds.join(" and ");
  const known = Object.keys(KINDS).join(", ");
  throw new AppError(
    "usage",
    `The subject "${subject.key}" has ${given}: give exactly one of ${known}`,
  );
}

function checkKeys(subjects: readonly WatchSubject[]): void {
  const keys = subjects.map(({ key }) => key);
  const twice = keys.find((key, at) => keys.indexOf(key) !== at);
  if (twice === undefined) return;
  throw new AppError("usage", `Two subjects have the key "${twice}": give each its own`);
}
