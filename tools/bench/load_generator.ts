/**
 * The bench's own client, in a thread of its own: as fast as answers come, or at a fixed rate
 * whether they come or not, so that a server that stalls is seen to stall.
 *
 * @module
 */

import type { LoadRequest, LoadResult, LoadShape } from "./load.ts";

/** What the thread is asked. */
export interface OwnLoadOrder {
  readonly request: LoadRequest;
  readonly shape: LoadShape;
  /** Requests a second; as fast as answers come when absent. */
  readonly rate?: number;
}

export interface OwnLoadReport {
  /** Milliseconds from when each request was due to its whole answer. */
  readonly latenciesMs: Float64Array;
  /** Milliseconds it all took. */
  readonly tookMs: number;
  /** Answers with a status of 400 and more. */
  readonly refused: number;
  /** Answers that did not come. */
  readonly broken: number;
  /** Part of one processor that its thread had. */
  readonly clientBusy: number;
}

/** As fast as answers come. */
export async function ownLoad(request: LoadRequest, shape: LoadShape): Promise<LoadResult> {
  return toResult(await order({ request, shape }));
}

/** At a fixed rate. Gives every latency, too. */
export async function pacedLoad(
  request: LoadRequest,
  shape: LoadShape & { readonly rate: number },
): Promise<LoadResult & { readonly latenciesMs: Float64Array }> {
  const report = await order({ request, shape, rate: shape.rate });
  return { ...toResult(report), latenciesMs: report.latenciesMs };
}

function order(asked: OwnLoadOrder): Promise<OwnLoadReport> {
  const worker = new Worker(new URL("./load_generator_worker.ts", import.meta.url), {
    type: "module",
  });
  return new Promise<OwnLoadReport>((resolve, reject) => {
    worker.onmessage = (event: MessageEvent<OwnLoadReport>) => resolve(event.data);
    worker.onerror = (event) => {
      event.preventDefault();
      reject(new Error(`The load client failed: ${event.message}`));
    };
    worker.postMessage(asked);
  }).finally(() => worker.terminate());
}

function toResult({ latenciesMs, tookMs, refused, broken, clientBusy }: OwnLoadReport): LoadResult {
  const sorted = latenciesMs.toSorted();
  return {
    perSecond: sorted.length / (tookMs / 1000),
    p99Ms: sorted[Math.ceil(sorted.length * 0.99) - 1] ?? NaN,
    answers: sorted.length,
    refused,
    broken,
    clientBusy,
  };
}
