/**
 * A thread that sends large bodies, so that requests measured beside them wait for the daemon and
 * not for this sender.
 *
 * @module
 */

/** The request to send, and how many at once. */
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
    // Any answer will do: a refusal in the middle of the body may arrive as a reset.
    await fetch(url, { method: "POST", headers, body })
      .then((response) => response.arrayBuffer()).catch(() => {});
  }));
  scope.postMessage("sent");
};
