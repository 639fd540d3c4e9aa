/**
 * What a way to log in is: how a browser shows who its user is. Each gives an identity, as `is` of a
 * Person has it: an issuer, and what that never gives to anybody else.
 *
 * @module
 */

/** What only this login knows, so that no answer of another one counts. */
export interface LoginSecrets {
  /** Sent to the provider, which sends it back. */
  readonly state: string;
  /** In the signed answer of the provider. */
  readonly nonce: string;
  /** Its hash is sent first and it itself last (PKCE). */
  readonly verifier: string;
}

/** A way by which a proxy says who sent a request. */
export interface ToldWay {
  readonly name: string;
  /**
   * The identity of the sender.
   *
   * @throws {AppError} `unauthorized` if the request says none that counts; `unreachable`.
   */
  readonly read: (headers: Headers) => Promise<string>;
}

/** A way by which a provider is asked, to which the browser is sent. */
export interface AskedWay {
  readonly name: string;
  /**
   * The address at the provider to which the browser is sent.
   *
   * @throws {AppError} `unreachable`.
   */
  readonly begin: (secrets: LoginSecrets) => Promise<string>;
  /**
   * The identity of the person with whom the provider sent the browser back.
   *
   * @throws {AppError} `unauthorized` if the answer does not count; `unreachable`.
   */
  readonly finish: (answer: URLSearchParams, secrets: LoginSecrets) => Promise<string>;
}

/** One way to log in. */
export type LoginWay = ToldWay | AskedWay;
