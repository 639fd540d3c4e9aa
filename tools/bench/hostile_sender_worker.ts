/**
 * A thread that sends large bodies, so that whoever waits beside them waits for the daemon, not for
 * the sender.
 *
 * @module
 */

/** What the thread is asked to send, so many times at once. */
export interface HostileOrder {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly times: number;
}

const scope = globalThis as unknown as DedicatedWorkerGlobalScope;

scope.onmessage = async ({ data }: MessageEvent<HostileOrder>) => {
  const { url, headers, body, times } = data;
  await Promise.all(Array.from({ length: times }, async () => {
    // Whatever it is answered: a refusal in the middle of its body may come as a reset.
    await fetch(url, { method: "POST", headers, body })
      .then((response) => response.arrayBuffer()).catch(() => {});
  }));
  scope.postMessage("sent");
};
