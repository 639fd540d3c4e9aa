/**
 * Limits how many streamed answers may be open at once. Each keeps in memory what its reader has
 * not taken yet, and a reader that takes nothing may stay as long as it likes.
 *
 * @module
 */

import type { Role } from "../../base/roles.ts";
import { AppError } from "../../base/errors.ts";

/** A number of streams that the callers of each role share. */
export class StreamBudget {
  readonly #most: number;
  readonly #open = new Map<Role, number>();

  /** A budget of `most` streams for each role, of which none can use up that of another. */
  constructor(most: number) {
    this.#most = most;
  }

  /**
   * Begins a stream, which counts until it is disposed.
   *
   * @throws {AppError} `overloaded` when the callers of this role have as many open as they may.
   */
  begin(role: Role): Disposable {
    const open = this.#open.get(role) ?? 0;
    if (open >= this.#most) {
      throw new AppError(
        "overloaded",
        `Callers with the role ${role} have ${open} streams open, the limit: end some that ` +
          "follow a log or watch a list, then try again",
      );
    }
    this.#open.set(role, open + 1);
    const counted = new DisposableStack();
    counted.defer(() => this.#open.set(role, (this.#open.get(role) ?? 0) - 1));
    return counted;
  }
}
