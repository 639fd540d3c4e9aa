/**
 * Decisions by resources that another daemon changes meanwhile: the store refuses them, and they are made
 * anew.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";

/**
 * Version of the resources by which something was decided; any will do when absent. Where they have
 * changed since, nothing is stored, and {@linkcode StaleResourcesError} is thrown.
 */
export interface DecidedByResources {
  readonly resourceVersion?: number;
}

/** Nothing was stored: the caller has to load the resources and decide again. */
export class StaleResourcesError extends AppError {
  constructor() {
    super("overloaded", "The resources have just changed: try again", { retryAfterSecs: 1 });
  }
}

/** The resources by which this daemon decides. */
export interface CurrentResources {
  /** Version of those that it has read. */
  readonly version: number;
  /** Reads what other daemons have changed. */
  refresh(): Promise<void>;
}

/** Most decisions on one event while other daemons change the resources. */
const ATTEMPTS = 5;

/**
 * Decides and stores what was decided, anew where another daemon has changed the resources meanwhile.
 * `decide` gets the version to store it with, and looks at no resource before it is called.
 *
 * @throws {StaleResourcesError} if they change again and again, or cannot be read.
 */
export async function byCurrentResources<T>(
  resources: CurrentResources,
  decide: (resourceVersion: number) => Promise<T>,
): Promise<T> {
  for (let attempt = 1;; attempt++) {
    try {
      return await decide(resources.version);
    } catch (error) {
      if (!(error instanceof StaleResourcesError) || attempt >= ATTEMPTS) throw error;
      await resources.refresh().catch(() => {
        throw error;
      });
    }
  }
}
