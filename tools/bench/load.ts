/**
 * Requests as fast as they are answered, over a number of connections that are kept: by `wrk` where
 * it is installed, else by a client of our own.
 *
 * @module
 */

import { ownLoad } from "./load_generator.ts";
import { findWrk, wrkLoad } from "./wrk.ts";

export interface LoadRequest {
  /** Base address of the server. */
  readonly url: string;
  /** Paths, each as often as any other. */
  readonly paths: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  /** Header that gets a value of its own with each request. */
  readonly uniqueHeader?: string;
  readonly body: string;
}

/** How it is sent. */
export interface LoadShape {
  /** Connections, each with one request at a time. */
  readonly connections: number;
  readonly seconds: number;
}

export interface LoadResult {
  readonly perSecond: number;
  /** Milliseconds within which 99 of 100 were answered. */
  readonly p99Ms: number;
  readonly answers: number;
  /** Of these, with a status of 400 and more. */
  readonly refused: number;
  /** Connections that broke and answers that did not come. */
  readonly broken: number;
  /** Part of one processor that the client itself had: near 1 it is the client that is measured. */
  readonly clientBusy: number;
}

export interface LoadClient {
  /** Its name, for the report. */
  readonly name: string;
  run(request: LoadRequest, shape: LoadShape): Promise<LoadResult>;
}

/** The client to use here. */
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
