/**
 * The state of Connections, as the daemon observes it. Their settings are in the resource.
 *
 * @module
 */

/** Identifies a Connection: one that is deleted and made again has a new `createdAt`. */
export interface ConnectionKey {
  readonly project: string;
  readonly name: string;
  /** When its resource was created, in milliseconds since the epoch. */
  readonly createdAt: number;
}

/** A time in which events were missed, with their number. */
export interface Gap {
  /** Milliseconds since the epoch of the first missed event, or from when on nothing is known. */
  readonly from: number;
  /** The same of the last one. */
  readonly to: number;
  /** Number of events that were recovered. */
  readonly repaired: number;
  /** Number of events that cannot be recovered; 0 if it is not known. */
  readonly lost: number;
  /** The lost events and the cause; empty if none were lost. */
  readonly reason: string;
}

/** What is known of one Connection; times in milliseconds since the epoch. */
export interface ConnectionState extends ConnectionKey {
  /** Name of the user of its token; absent until the platform was asked. */
  readonly login?: string;
  /** Id of that user. */
  readonly userId?: string;
  /** End of its token; absent if it has none, or it is not known. */
  readonly tokenEndsAt?: number;
  /** Time of its last event, if its events do not come as requests. */
  readonly lastEventAt?: number;
  /** Its fault, one sentence; absent while it works. */
  readonly fault?: string;
  /** Start of the fault; another fault in between does not change it. */
  readonly faultSince?: number;
  /** End of the last complete repair. */
  readonly repairedAt?: number;
  /** For each webhook, by id: the time up to which every event is stored, or is known to be lost. */
  readonly marks: Readonly<Record<string, number>>;
  /** Events that were recovered, and that were lost, since it was made. */
  readonly repaired: number;
  readonly lost: number;
  /** The last gaps, newest first. */
  readonly gaps: readonly Gap[];
}

/** A change of the state: an absent field stays, `null` removes it. */
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
