/**
 * The processor time of a process and of everything that it has started. Unlike a rate, it hardly
 * depends on other work on the machine. Every figure is NaN except on Linux.
 *
 * @module
 */

/**
 * The threads of svc by their work: the event loop, Workers (the store), V8's collector and
 * compiler.
 */
const THREADS = ["main", "workers", "helpers", "other"] as const;

/** Processor time, of the system and of the program together. */
export interface ProcessorTime {
  /** Of the process itself. */
  readonly own: number;
  /** Of all its descendants, whether they live or have ended. */
  readonly children: number;
  /** Of its ended children and the descendants that these have outlived. */
  readonly ended: number;
  readonly threads: Readonly<Record<(typeof THREADS)[number], number>>;
}

/** The processor time of a process so far in milliseconds; of this process if `pid` is absent. */
export function processorTime(pid: number | "self" = "self"): ProcessorTime {
  const threads = { main: 0, workers: 0, helpers: 0, other: 0 };
  if (Deno.build.os !== "linux") return { own: NaN, children: NaN, ended: NaN, threads };
  const { pid: id, own, ended, living } = familyOf(pid);
  for (const { name: thread } of Deno.readDirSync(`/proc/${id}/task`)) {
    const path = `/proc/${id}/task/${thread}`;
    const name = readProc(`${path}/comm`);
    if (name === undefined) continue; // ended meanwhile
    threads[kindOf(name, thread === String(id))] += scheduledMs(path);
  }
  return { own, children: ended + living, ended, threads };
}

/** How often a family is read again because a child of the process ended meanwhile. */
const READS = 4;

/** The times of a process and its descendants. */
interface Family extends Pick<ProcessorTime, "own" | "ended"> {
  readonly pid: number;
  /** Of the descendants that live, with their own ended children. */
  readonly living: number;
}

/**
 * Reads a process and then its descendants. A child that ends in between is still missing from the
 * first and no longer among the others. So all is read again until the time of ended children stands
 * still; then at most one tick is missing, and nothing is counted twice.
 */
function familyOf(pid: number | "self"): Family {
  for (let reads = 1;; reads++) {
    const before = statOf(pid);
    const stats = [...Deno.readDirSync("/proc")]
      .filter(({ name }) => /^[0-9]+$/.test(name))
      .map(({ name }) => tryStat(Number(name)))
      .filter((stat) => stat !== undefined);
    const children = Map.groupBy(stats, ({ parent }) => parent);
    const timeOf = (parent: number): number =>
      (children.get(parent) ?? []).reduce(
        // Of a process with one thread, the scheduler knows more than ticks.
        (sum, { pid, own, ended }) =>
          sum + Math.max(own, scheduledMs(`/proc/${pid}`)) + ended + timeOf(pid),
        0,
      );
    const living = timeOf(before.pid);
    if (reads === READS || statOf(pid).ended === before.ended) return { ...before, living };
  }
}

interface Stat extends Pick<ProcessorTime, "own" | "ended"> {
  readonly pid: number;
  readonly parent: number;
}

function tryStat(pid: number): Stat | undefined {
  const stat = readProc(`/proc/${pid}/stat`);
  return stat === undefined ? undefined : parseStat(stat);
}

/** @throws {Deno.errors.NotFound} when there is no such process. */
function statOf(pid: number | "self"): Stat {
  return parseStat(Deno.readTextFileSync(`/proc/${pid}/stat`));
}

function parseStat(stat: string): Stat {
  // The second field, the name of the program, may contain blanks and brackets.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ").map(Number);
  const [user = NaN, system = NaN, childUser = NaN, childSystem = NaN] = fields.slice(11, 15);
  return {
    pid: parseInt(stat),
    parent: fields[1] ?? NaN,
    own: (user + system) * TICK_MS,
    ended: (childUser + childSystem) * TICK_MS,
  };
}

/** The time that the scheduler gave a thread; 0 if it has ended. */
function scheduledMs(thread: string): number {
  const [nanoseconds] = (readProc(`${thread}/schedstat`) ?? "0").split(" ");
  return Number(nanoseconds) / 1e6;
}

/** A file below `/proc`; `undefined` if its process has ended, before or while it is read. */
function readProc(path: string): string | undefined {
  try {
    return Deno.readTextFileSync(path);
  } catch (error) {
    const ended = error instanceof Deno.errors.NotFound || /os error 3\b/.test(String(error)); // ESRCH
    if (ended) return undefined;
    throw error;
  }
}

/** Runs work, and measures the microseconds that each operation costs a process. */
export async function costOf<T>(
  pid: number | "self",
  work: () => Promise<T>,
  operations: (result: T) => number,
): Promise<T & { readonly cost: ProcessorTime }> {
  const start = processorTime(pid);
  const result = await work();
  const end = processorTime(pid);
  const each = (from: number, to: number) => ((to - from) * 1000) / operations(result);
  const threads = { ...end.threads };
  for (const name of THREADS) threads[name] = each(start.threads[name], end.threads[name]);
  const cost = {
    own: each(start.own, end.own),
    children: each(start.children, end.children),
    ended: each(start.ended, end.ended),
    threads,
  };
  return { ...result, cost };
}

/** The sum with the children; NaN if nothing was measured. */
export function whole(time: ProcessorTime | undefined): number {
  return time === undefined ? NaN : time.own + time.children;
}

/** Linux counts processor time in hundredths of a second. */
const TICK_MS = 10;

function kindOf(thread: string, isMain: boolean): (typeof THREADS)[number] {
  if (isMain) return "main";
  if (thread.startsWith("worker-")) return "workers";
  return thread.startsWith("V8 ") ? "helpers" : "other";
}
