/**
 * A bound on how long a test waits, so that what hangs fails one test.
 *
 * @module
 */

/** How much longer than alone something may take on a busy machine. */
const BUSY = 10;

/**
 * Rejects when `work` takes far longer than the `ms` it may take on a machine that has nothing else
 * to do: what hangs shall fail its test and not stop them all.
 */
export async function within<T>(ms: number, work: PromiseLike<T>): Promise<T> {
  const { promise, reject: giveUp } = Promise.withResolvers<never>();
  const timer = setTimeout(() => giveUp(new Error(`far from done within ${ms} ms`)), BUSY * ms);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
