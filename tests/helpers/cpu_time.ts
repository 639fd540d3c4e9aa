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
