/**
 * Processor time, which other work on the machine hardly changes.
 *
 * @module
 */

/**
 * Milliseconds for which the thread of this test has had a processor. Outside Linux, the time of
 * the clock.
 */
export function cpuMs(): number {
  try {
    // Read at once, by this thread itself: a file that is read later is read by another one.
    const [nanoseconds = ""] = Deno.readTextFileSync("/proc/thread-self/schedstat").split(" ");
    return Number(nanoseconds) / 1e6;
  } catch {
    return performance.now();
  }
}

/**
 * Milliseconds for which a process and its ended children have had a processor. Outside Linux, and
 * after the end of the process, 0.
 */
export function cpuMsOf(pid: number): number {
  try {
    const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
    // A name may hold anything, a `)` too: what counts is behind the last one.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ").slice(11, 15);
    return fields.reduce((sum, ticks) => sum + Number(ticks) * 10, 0);
  } catch {
    return 0;
  }
}
