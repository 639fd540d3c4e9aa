/**
 * A limit for work that may hang.
 *
 * @module
 */

/** How much longer work may take on a busy machine than on an idle one. */
const BUSY = 10;

/**
 * Rejects when `work` takes far longer than the `ms` that it takes on an idle machine.
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
