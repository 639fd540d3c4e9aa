/**
 * Merges several streams into one.
 *
 * @module
 */

/**
 * Yields the values of all streams, in the order in which they come. Each stream waits until its last
 * value was taken, so a busy stream takes turns with the others. Ends when all streams have ended, or
 * with the first error of one. When its reader stops, it calls `stop` and waits for the streams, which
 * have to end soon after that.
 */
export async function* mergedStreams<T>(
  streams: readonly AsyncIterable<T>[],
  stop: () => void,
): AsyncGenerator<T> {
  const queue: { readonly value: T; readonly taken: () => void }[] = [];
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
        queue.push({ value, taken: resolve });
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
      const next = queue.shift();
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
    for (const one of queue) one.taken();
    await Promise.all(following);
  }
}
