/**
 * The lease of this node: while it is renewed, no other node takes over what this one runs. A node
 * that cannot renew it says so while there is still time to end its steps before another begins
 * them. That is measured by the monotonic clock: the database is what cannot be asked.
 *
 * @module
 */

import type { Clock } from "../../../base/clock.ts";
import { AppError } from "../../../base/errors.ts";
import { reliableMs } from "../../lease.ts";
import type { Connections, KeptConnection, Session } from "../database/connections.ts";
import { endLease, enterNode, lockNode, type NodeEntry, renewLease } from "./node_rows.ts";

/** The functions that are called when something happens to a lease. */
export interface LeaseListener {
  /** It was renewed; the database was asked for that so many milliseconds ago. */
  onRenewed?(agoMs: number): void;
  /** It could not be renewed for so long that another node may soon take over what runs here. */
  onLost?(): void;
  /** It was renewed after all. */
  onRegained?(): void;
  /** The database's clock is ahead of this machine's by so many milliseconds. */
  onClock?(aheadMs: number): void;
}

/** The node whose lease it is, and where it is kept. */
export interface LeaseHost {
  readonly connections: Connections;
  readonly clock: Clock;
  readonly entry: NodeEntry;
  readonly listener: LeaseListener;
  /** Called in the transaction of each renewal. */
  readonly withEach: (db: Session) => Promise<void>;
}

/** A lease is renewed so often before it ends. */
const RENEWALS = 6;
/** Longest wait for the connection of a former run to close. */
const LOCK_MS = 5000;
const LOCK_TRY_MS = 50;
/** An answer that takes longer says too little of the database's clock. */
const COMPARED_WITHIN_MS = 1000;
/** Longest time to give up a lease. */
const GIVE_UP_MS = 1000;
/** Pause before a renewal that failed is tried again. */
const RETRY_MS = 1000;

/** The lease of the node for which the connections are. */
export class NodeLease implements AsyncDisposable {
  readonly #host: LeaseHost;
  readonly #stopping = new AbortController();
  #kept: KeptConnection | undefined;
  #isLost = false;
  #fence: Disposable | undefined;
  #over: Promise<void> = Promise.resolve();

  private constructor(host: LeaseHost, kept: KeptConnection) {
    this.#host = host;
    this.#kept = kept;
  }

  /**
   * Enters the node, and renews its lease from then on.
   *
   * @throws {AppError} `refused` when another daemon runs as this node, or has its name.
   */
  static async open(host: LeaseHost): Promise<NodeLease> {
    const { connections, clock, entry } = host;
    const began = clock.monotonicMs();
    const kept = await connections.keep();
    try {
      await lockOrRefuse(kept.db, { clock, entry });
      await kept.transaction((db) => enterNode(db, entry));
    } catch (error) {
      kept[Symbol.dispose]();
      throw error;
    }
    const lease = new NodeLease(host, kept);
    lease.#hold(began);
    lease.#over = lease.#renewAll();
    return lease;
  }

  async #renewAll(): Promise<void> {
    const { clock, entry: { leaseMs } } = this.#host;
    const { signal } = this.#stopping;
    const everyMs = leaseMs / RENEWALS;
    for (let isRenewed = true;;) {
      await clock.pause(isRenewed ? everyMs : Math.min(RETRY_MS, everyMs), signal);
      if (signal.aborted) return;
      isRenewed = await this.#renew(everyMs).then(() => true, () => false);
    }
  }

  /** Renews the lease; a connection that does not answer in this time is closed. */
  async #renew(withinMs: number): Promise<void> {
    const { connections, clock, entry, withEach } = this.#host;
    const began = clock.monotonicMs();
    const isNewConnection = this.#kept === undefined;
    const kept = this.#kept ?? await connections.keep();
    using _late = clock.after(withinMs, () => kept[Symbol.dispose]());
    try {
      if (isNewConnection) await lockNode(kept.db); // the old one may have it still
      await kept.transaction(async (db) => {
        const asked = clock.now();
        const time = await renewLease(db, { ...entry, isNewConnection });
        if (time === undefined) throw notAlone(entry);
        this.#compare(time, { asked, answered: clock.now() });
        await withEach(db);
      });
      this.#kept = kept;
    } catch (error) {
      this.#kept = undefined;
      kept[Symbol.dispose]();
      throw error;
    }
    this.#hold(began);
  }

  /** Compares the clocks, where the answer came at once. */
  #compare(time: number, { asked, answered }: { asked: number; answered: number }): void {
    if (Math.abs(answered - asked) > COMPARED_WITHIN_MS) return;
    this.#host.listener.onClock?.(time - (asked + answered) / 2);
  }

  /** Has the lease for its whole length from `began` on. */
  #hold(began: number): void {
    const { clock, entry: { leaseMs }, listener } = this.#host;
    this.#fence?.[Symbol.dispose]();
    const agoMs = clock.monotonicMs() - began;
    this.#fence = clock.after(Math.max(0, reliableMs(leaseMs) - agoMs), () => {
      this.#isLost = true;
      listener.onLost?.();
    });
    listener.onRenewed?.(agoMs);
    if (!this.#isLost) return;
    this.#isLost = false;
    listener.onRegained?.();
  }

  /** Gives the lease up if the database can be reached, so that no other node waits for its end. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#over;
    this.#fence?.[Symbol.dispose]();
    const kept = this.#kept;
    if (kept === undefined) return;
    using _late = this.#host.clock.after(GIVE_UP_MS, () => kept[Symbol.dispose]());
    await kept.transaction(endLease).catch(() => {});
    kept[Symbol.dispose]();
  }
}

async function lockOrRefuse(
  db: Session,
  { clock, entry }: Pick<LeaseHost, "clock" | "entry">,
): Promise<void> {
  const until = clock.monotonicMs() + LOCK_MS;
  while (!await lockNode(db)) {
    if (clock.monotonicMs() >= until) throw notAlone(entry);
    await clock.pause(LOCK_TRY_MS);
  }
}

function notAlone({ name }: NodeEntry): AppError {
  return new AppError(
    "refused",
    `Another daemon runs as node ${name}, in this data directory or one that it was copied to or from: stop it, or make a data directory for this one with "svc init"`,
  );
}
