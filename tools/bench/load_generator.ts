/**
 * The bench's client, in its own thread: it sends as fast as answers arrive, or at a fixed rate
 * even without answers, so that a stalled server shows.
 *
 * @module
 */

import type { LoadRequest, LoadResult, LoadShape } from "./load.ts";

export interface OwnLoadOrder {
  readonly request: LoadRequest;
  readonly shape: LoadShape;
  /** Requests a second; if absent, as fast as answers arrive. */
  readonly rate?: number;
}

export interface OwnLoadReport {
  /** Milliseconds from the due time of each request to the end of its answer. */
  readonly latenciesMs: Float64Array;
  /** Milliseconds of the whole run. */
  readonly tookMs: number;
  /** Answers with a status of 400 and more. */
  readonly refused: number;
  /** Requests without an answer. */
  readonly broken: number;
  /** Share of one processor that the thread of the client used. */
  readonly clientBusy: number;
}

/** Sends as fast as answers arrive. */
export async function ownLoad(request: LoadRequest, shape: LoadShape): Promise<LoadResult> {
  return toResult(await order({ request, shape }));
}

/** Sends at a fixed rate, and returns every latency too. */
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
