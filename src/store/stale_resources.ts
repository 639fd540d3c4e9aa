/**
 * What is thrown where something was decided by resources that another daemon has changed meanwhile.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";

/** Nothing was stored: the resources have to be loaded again, and the decision be made anew. */
export class StaleResourcesError extends AppError {
  /** Made by the store. */
  constructor() {
    super("overloaded", "The resources have just changed: try again", { retryAfterSecs: 1 });
  }
}
