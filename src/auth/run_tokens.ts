/**
 * Run tokens (contract 5): each plugin run and each task gets one, with exactly the rights of that
 * run, and it dies with it. Kept in memory only.
 *
 * @module
 */

/** What a token was given for. */
export type GrantKind = "plugin" | "cron" | "step";

/** Rights of one run. */
export interface Grant {
  /** What it was given for. */
  readonly kind: GrantKind;
  /** Project it belongs to. */
  readonly project: string;
  /** Task it belongs to, of a step. */
  readonly taskId?: string;
}

/** A token and its end. */
export interface IssuedToken extends Disposable {
  /** Goes into `SVC_RUN_TOKEN`. */
  readonly token: string;
}

/** Tokens of what runs now. */
export class RunTokens {
  readonly #grants = new Map<string, Grant>();

  /** A token for a run; disposing it takes the rights back. */
  issue(grant: Grant): IssuedToken {
    const token = `run-${crypto.randomUUID()}${crypto.randomUUID()}`;
    this.#grants.set(token, grant);
    return { token, [Symbol.dispose]: () => void this.#grants.delete(token) };
  }

  /** The rights of a token; `undefined` when it is unknown or its run is over. */
  find(token: string): Grant | undefined {
    return this.#grants.get(token);
  }
}
