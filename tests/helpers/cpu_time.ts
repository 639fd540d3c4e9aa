/**
 * How much work something is, on a machine that has other things to do.
 *
 * @module
 */

/**
 * Milliseconds for which the thread of this test has had a processor: what others do meanwhile, and
 * waiting, is not in it. Where the system does not tell (only Linux does), the time on the clock.
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
 * Milliseconds for which a process, and those children of it that have ended, had a processor. Where
 * the system does not tell, and once the process has ended, 0.
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
