/**
 * The error for a decision by resources that another daemon has changed meanwhile.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";

/** Nothing was stored: the caller has to load the resources and decide again. */
export class StaleResourcesError extends AppError {
  constructor() {
    super("overloaded", "The resources have just changed: try again", { retryAfterSecs: 1 });
  }
}
