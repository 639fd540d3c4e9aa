/**
 * Run tokens: each run of a plugin and each attempt of a step has one, which identifies it and is valid
 * until its end. Each operation defines what the token allows (`grants`). No store has them.
 *
 * @module
 */

import type { RunKind } from "../api/roles.ts";

/** The run that holds a token, with the records that are its own. */
export interface Grant {
  readonly kind: RunKind;
  readonly project: string;
  /** The task of a step. */
  readonly taskId?: string;
  /** The step whose attempt holds the token. */
  readonly stepId?: string;
  /** Whether it allows only what concerns this task, and not what every run may read. */
  readonly ownOnly?: true;
  /** The delivery that started this task. */
  readonly deliveryId?: string;
  /** The deliveries whose events ended waits of this task. */
  readonly waitedFor?: readonly string[];
  /** The file with the body that a plugin works on. */
  readonly body?: GivenFile;
}

/** A file that the daemon has written for a run of a plugin. */
export interface GivenFile {
  readonly path: string;
  readonly content: Uint8Array;
}

/** A token; disposing it revokes it. */
export interface IssuedToken extends Disposable {
  /** The value of `SVC_RUN_TOKEN` in the processes of the run. */
  readonly token: string;
}

/** The tokens of all runs that are under way. */
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
