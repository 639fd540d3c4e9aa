/**
 * Run tokens: each plugin run and each task gets one, which identifies the run and expires with it.
 * Its rights are defined by each operation, as its `grants`. Kept in memory only.
 *
 * @module
 */

import type { RunKind } from "../api/roles.ts";

/** The run that holds a token, and what belongs to it. */
export interface Grant {
  readonly kind: RunKind;
  readonly project: string;
  /** Task of the run, for steps. */
  readonly taskId?: string;
  /** Delivery that started this task. */
  readonly deliveryId?: string;
  /** File with the body that a plugin was given. */
  readonly body?: GivenFile;
}

/** A file that the daemon has written for a run. */
export interface GivenFile {
  readonly path: string;
  readonly content: Uint8Array;
}

/** A token; disposing it revokes it. */
export interface IssuedToken extends Disposable {
  /** Value of `SVC_RUN_TOKEN`. */
  readonly token: string;
}

/** The tokens of all runs under way. */
export class RunTokens {
  readonly #grants = new Map<string, Grant>();

  /** Issues a token for a run; disposing it revokes the token. */
  issue(grant: Grant): IssuedToken {
    const token = `run-${crypto.randomUUID()}${crypto.randomUUID()}`;
    this.#grants.set(token, grant);
    return { token, [Symbol.dispose]: () => void this.#grants.delete(token) };
  }

  /** Finds the run of a token; `undefined` when the token is unknown or its run has ended. */
  find(token: string): Grant | undefined {
    return this.#grants.get(token);
  }
}
