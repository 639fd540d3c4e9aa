/**
 * Sends requests as fast as they are answered, over kept connections: by `wrk` if it is installed,
 * else by the bench's client.
 *
 * @module
 */

import { ownLoad } from "./load_generator.ts";
import { findWrk, wrkLoad } from "./wrk.ts";

export interface LoadRequest {
  /** Base address of the server. */
  readonly url: string;
  /** Paths, all requested equally often. */
  readonly paths: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  /** Header that gets a new value in each request. */
  readonly uniqueHeader?: string;
  readonly body: string;
}

export interface LoadShape {
  /** Number of connections, each with one request at a time. */
  readonly connections: number;
  readonly seconds: number;
}

export interface LoadResult {
  readonly perSecond: number;
  /** The 99th percentile of the latency in milliseconds. */
  readonly p99Ms: number;
  readonly answers: number;
  /** Answers with a status of 400 or more. */
  readonly refused: number;
  /** Broken connections and missing answers. */
  readonly broken: number;
  /**
   * Share of one processor that the client used; near 1, the client is the limit and not the
   * server.
   */
  readonly clientBusy: number;
}

export interface LoadClient {
  /** The name of the client for the report. */
  readonly name: string;
  run(request: LoadRequest, shape: LoadShape): Promise<LoadResult>;
}

/** The client of this machine. */
export async function findLoadClient(): Promise<LoadClient> {
  const wrk = await findWrk();
  if (wrk === undefined) return { name: "the bench's own client (no wrk here)", run: ownLoad };
  return { name: wrk, run: wrkLoad };
}

/**
 * The result of a run in which nothing may go wrong.
 *
 * @throws {Error} when answers are missing, or are not what they are to be.
 */
export function checked<R extends LoadResult>(result: R, expected: "accepted" | "refused"): R {
  const right = expected === "accepted" ? result.refused === 0 : result.refused === result.answers;
  if (right && result.broken === 0 && result.answers > 0) return result;
  throw new Error(`Not all requests were ${expected}: ${JSON.stringify(result)}`);
}
