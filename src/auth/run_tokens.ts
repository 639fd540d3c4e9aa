/**
 * Run tokens: each plugin run and each task gets one, which names the run and dies with it. What it
 * allows stands with each operation, as its `grants`. Kept in memory only.
 *
 * @module
 */

import type { RunKind } from "../api/roles.ts";

/** The run that a token was given to, and what is its own. */
export interface Grant {
  /** What runs. */
  readonly kind: RunKind;
  /** Project it belongs to. */
  readonly project: string;
  /** Task it belongs to, of a step. */
  readonly taskId?: string;
  /** Delivery that started this task. */
  readonly deliveryId?: string;
}

/** A token and its end. */
export interface IssuedToken extends Disposable {
  /** Goes into `SVC_RUN_TOKEN`. */
  readonly token: string;
}

/** Tokens of what runs now. */
export class RunTokens {
  readonly #grants = new Map<string, Grant>();

  /** A token for a run; disposing it ends the token. */
  issue(grant: Grant): IssuedToken {
    const token = `run-${crypto.randomUUID()}${crypto.randomUUID()}`;
    this.#grants.set(token, grant);
    return { token, [Symbol.dispose]: () => void this.#grants.delete(token) };
  }

  /** The run of a token; `undefined` when it is unknown or its run is over. */
  find(token: string): Grant | undefined {
    return this.#grants.get(token);
  }
}
