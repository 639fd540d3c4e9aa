/**
 * How long a process has had a processor. Unlike rates this hardly depends on what else the machine
 * does. Only Linux tells; elsewhere every figure is NaN.
 *
 * @module
 */

/**
 * Threads of svc by what they do: the event loop, Workers (the store), V8's collector and compiler.
 */
const THREADS = ["main", "workers", "helpers", "other"] as const;

/** Processor time, of the system and of the program together. */
export interface ProcessorTime {
  /** Of the process itself. */
  readonly own: number;
  /** Of its children that have ended, and of theirs. */
  readonly children: number;
  readonly threads: Readonly<Record<(typeof THREADS)[number], number>>;
}

/** Milliseconds a process has had so far; this process when no other is named. */
export function processorTime(pid: number | "self" = "self"): ProcessorTime {
  const threads = { main: 0, workers: 0, helpers: 0, other: 0 };
  if (Deno.build.os !== "linux") return { own: NaN, children: NaN, threads };
  const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
  // The second field, the name of the program, may have blanks and brackets of its own.
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

/** Work, and the microseconds that each of its operations has cost a process. */
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

/** With that of the children; NaN where nothing was measured. */
export function whole(time: ProcessorTime | undefined): number {
  return time === undefined ? NaN : time.own + time.children;
}

/** Linux counts in hundredths of a second for whoever asks. */
const TICK_MS = 10;

function kindOf(thread: string, isMain: boolean): (typeof THREADS)[number] {
  if (isMain) return "main";
  if (thread.startsWith("worker-")) return "workers";
  return thread.startsWith("V8 ") ? "helpers" : "other";
}
