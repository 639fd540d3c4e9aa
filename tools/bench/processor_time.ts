/**
 * The processor time of a process. Unlike a rate, it hardly depends on other work on the machine.
 * Every figure is NaN except on Linux.
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
  /** Of its ended children and their descendants. */
  readonly children: number;
  readonly threads: Readonly<Record<(typeof THREADS)[number], number>>;
}

/** The processor time of a process so far in milliseconds; of this process if `pid` is absent. */
export function processorTime(pid: number | "self" = "self"): ProcessorTime {
  const threads = { main: 0, workers: 0, helpers: 0, other: 0 };
  if (Deno.build.os !== "linux") return { own: NaN, children: NaN, threads };
  const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
  // The second field, the name of the program, may contain blanks and brackets.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ").map(Number);
  const [user = NaN, system = NaN, childUser = NaN, childSystem = NaN] = fields.slice(11, 15);
  const own = (user + system) * TICK_MS;
  const children = (childUser + childSystem) * TICK_MS;
  for (const { name: id } of Deno.readDirSync(`/proc/${pid}/task`)) {
    const thread = `/proc/${pid}/task/${id}`;
    try {
      const name = Deno.readTextFileSync(`${thread}/comm`);
      const [nanoseconds = ""] = Deno.readTextFileSync(`${thread}/schedstat`).split(" ");
      threads[kindOf(name, id === String(pid))] += Number(nanoseconds) / 1e6;
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error; // ended meanwhile
    }
  }
  return { own, children, threads };
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
