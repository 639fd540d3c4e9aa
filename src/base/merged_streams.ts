/**
 * Several streams as one.
 *
 * @module
 */

/**
 * Yields what any of the streams yields, in the order in which it comes. Each stream waits until
 * its last value was taken, so that one that has much to say takes turns with the others. Ends when
 * all have ended, or with the first error of one; ends them when its reader has had enough, for
 * which their own waiting has to be over soon after `stop` was called.
 */
export async function* mergedStreams<T>(
  streams: readonly AsyncIterable<T>[],
  stop: () => void,
): AsyncGenerator<T> {
  const given: { readonly value: T; readonly taken: () => void }[] = [];
  let taken = () => {};
  let failed: { readonly error: unknown } | undefined;
  let running = streams.length;
  let stopped = false;
  let wake = () => {};
  const follow = async (stream: AsyncIterable<T>) => {
    try {
      for await (const value of stream) {
        if (stopped) break;
        const { promise, resolve } = Promise.withResolvers<void>();
        given.push({ value, taken: resolve });
        wake();
        await promise;
      }
    } catch (error) {
      failed ??= { error };
    }
    running--;
    wake();
  };
  const following = streams.map(follow);
  try {
    for (;;) {
      const next = given.shift();
      if (next !== undefined) {
        taken = next.taken;
        yield next.value;
        taken();
      } else if (failed !== undefined) {
        throw failed.error;
      } else if (running === 0) {
        return;
      } else {
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        await promise;
      }
    }
  } finally {
    stopped = true;
    stop();
    taken();
    for (const one of given) one.taken();
    await Promise.all(following);
  }
}
