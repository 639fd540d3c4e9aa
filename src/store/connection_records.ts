/**
 * What the daemon learns of a Connection: the resource says what an admin wants, this what is.
 *
 * @module
 */

/** Names one Connection as it was made; made anew under the same name, it has no past. */
export interface ConnectionKey {
  readonly project: string;
  readonly name: string;
  /** When its resource was created, in milliseconds since the epoch. */
  readonly createdAt: number;
}

/** A time in which events were missed, and what became of them. */
export interface Gap {
  /** Milliseconds since the epoch of the first missed event, or from when on nothing is known. */
  readonly from: number;
  /** The same of the last one. */
  readonly to: number;
  /** Events that were got back. */
  readonly repaired: number;
  /** Events that nobody can get back any more; 0 where their number is not known. */
  readonly lost: number;
  /** Which ones were lost and why; empty where none were. */
  readonly reason: string;
}

/** What is known of one Connection; times in milliseconds since the epoch. */
export interface ConnectionState extends ConnectionKey {
  /** Who its token belongs to, as people know them; absent until the platform was asked. */
  readonly login?: string;
  /** The same as the platform counts them. */
  readonly userId?: string;
  /** End of its token; absent where it has none, or none is known. */
  readonly tokenEndsAt?: number;
  /** Its last event, where it does not come as a request. */
  readonly lastEventAt?: number;
  /** What is wrong with it, one sentence; absent while it works. */
  readonly fault?: string;
  /** Since when; another fault in between does not count. */
  readonly faultSince?: number;
  /** End of the last repair that went through everything. */
  readonly repairedAt?: number;
  /** Of each of its webhooks, by id: up to when every event is here, or is known to be lost. */
  readonly marks: Readonly<Record<string, number>>;
  /** Events that were got back, and that were lost, since it was made. */
  readonly repaired: number;
  readonly lost: number;
  /** The last gaps, newest first. */
  readonly gaps: readonly Gap[];
}

/** What has been learnt; what is absent stays as it is, `null` means that it is not there. */
export interface ConnectionNews {
  readonly login?: string;
  readonly userId?: string;
  readonly tokenEndsAt?: number | null;
  readonly lastEventAt?: number;
  /** A sentence, or `null` when it works. */
  readonly fault?: string | null;
  readonly repairedAt?: number;
  /** Webhooks whose mark moves. */
  readonly marks?: Readonly<Record<string, number>>;
  readonly gap?: Gap;
}
