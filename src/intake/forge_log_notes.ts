/**
 * Stores and reports the results of reading the logs of forges: marks, gaps, lost events, and Connections
 * that do not work.
 *
 * @module
 */

import type { Core } from "../base/core.ts";
import { rfc3339 } from "../base/clock.ts";
import { defined } from "../base/defined.ts";
import type { HealthConditions } from "../base/health_conditions.ts";
import { conditionOf, type Connection } from "../connections/find_connection.ts";
import { lostText, type MissedEvent } from "../connections/hooks/missed_events.ts";
import type { LogFindings, RepairedHook } from "../connections/hooks/repair_hook.ts";
import { connectedTo } from "../resources/connection.ts";
import type { ConnectionNews, ConnectionState } from "../store/connection_records.ts";
import type { KnownSecrets } from "../secrets/known_secrets.ts";
import type { ConnectionStore } from "../store/connection_store.ts";
import type { Events } from "../store/events.ts";
import type { IncidentKind } from "../store/incident_records.ts";

/** The store and the reports of results. */
export interface LogNotesHost extends Core {
  readonly store: ConnectionStore;
  readonly events: Events;
  readonly health: HealthConditions;
  /** Hides secrets in the messages of a platform. */
  readonly secrets: KnownSecrets;
}

/** The result of reading the logs of all webhooks of a Connection. */
export interface LogRun extends RepairedHook {
  /** All events that were missing, oldest first. */
  readonly missed: readonly MissedEvent[];
}

/** Time after which a fault that may pass is reported. */
const TOO_LONG_MS = 2 * 24 * 3600 * 1000;
/** Time between two notes of a log that has nothing new. */
const NOTE_EVERY_MS = 60_000;

/** Stores and reports results, each fault once. */
export class LogNotes {
  readonly #host: LogNotesHost;
  readonly #notedAt = new Map<string, number>();
  /** Connections that do not work, and whether that was reported. */
  readonly #faulty = new Map<string, { readonly connection: Connection; isReported: boolean }>();

  constructor(host: LogNotesHost) {
    this.#host = host;
  }

  /** The stored state of a Connection; `undefined` if there is none. */
  async stateOf({ project, name, createdAt }: Connection): Promise<ConnectionState | undefined> {
    const states = await this.#host.store.listConnectionStates();
    return states.find((state) =>
      state.project === project && state.name === name && state.createdAt === createdAt
    );
  }

  /** Clears the faults of Connections that no longer exist. */
  forgetAllBut(isThere: (connection: Pick<Connection, "project" | "name">) => boolean): void {
    for (const [what, { connection }] of this.#faulty) {
      if (isThere(connection)) continue;
      this.#host.health.clear(conditionOf(connection));
      this.#faulty.delete(what);
    }
  }

  /** Stores and reports the result of one webhook. */
  async hookDone(
    connection: Connection,
    { id, found, ended, isPull }: {
      readonly id: number;
      readonly found: LogFindings;
      readonly ended: RepairedHook;
      readonly isPull: boolean;
    },
  ): Promise<void> {
    const { now, missed, beyond, tokenEndsAt } = found;
    const { repaired, lost, fault } = ended;
    const counted = isPull ? 0 : repaired.length;
    const news: { -readonly [Field in keyof ConnectionNews]: ConnectionNews[Field] } = {};
    if (fault === undefined) news.marks = { [String(id)]: now };
    if (tokenEndsAt !== undefined) news.tokenEndsAt = tokenEndsAt;
    if (isPull && repaired.length > 0) news.lastEventAt = this.#host.clock.now();
    if (counted + lost.length > 0) {
      news.gap = {
        from: missed[0]?.at ?? now,
        to: missed.at(-1)?.at ?? now,
        repaired: counted,
        lost: lost.length,
        reason: lost.length === 0 ? "" : lostText(lost),
      };
    }
    const isNews = news.gap !== undefined || news.lastEventAt !== undefined ||
      beyond !== undefined || this.#isDue(`${keyOf(connection)}\n${id}`);
    if (isNews) await this.#note(connection, news);
    if (beyond !== undefined && fault === undefined) await this.#noteBeyond(connection, beyond);
    if (lost.length > 0) this.#report("gap.lost", connection, lostText(lost));
    if (counted === 0) return;
    const { project, name } = connection;
    const facts = { project, connection: name, repaired: counted, lost: lost.length };
    this.#host.log.info("missed events were sent again", facts);
  }

  async #noteBeyond(
    connection: Connection,
    { from, to, why }: NonNullable<LogFindings["beyond"]>,
  ): Promise<void> {
    const reason = `${why}: events that it could not deliver then are lost`;
    await this.#note(connection, { gap: { from, to, repaired: 0, lost: 0, reason } });
    const span = `${rfc3339(from)} and ${rfc3339(to)}`;
    this.#report("gap.lost", connection, `between ${span}, ${reason}`);
  }

  /** Stores and reports that the logs of all webhooks of a Connection were read, or the fault. */
  async runDone(
    connection: Connection,
    { fault: message, broken }: LogRun,
    { keepsLog, before }: { keepsLog: boolean; before: ConnectionState | undefined },
  ): Promise<void> {
    const { clock, health, secrets } = this.#host;
    const fault = message && secrets.redact(message);
    const what = keyOf(connection);
    const now = clock.now();
    if (fault === undefined) {
      health.clear(conditionOf(connection));
      this.#faulty.delete(what);
      if (before?.fault === undefined && !this.#isDue(what)) return;
      const repairedAt = keepsLog ? now : undefined;
      return void await this.#note(connection, { fault: null, ...defined({ repairedAt }) });
    }
    const faultSince = before?.faultSince ?? now;
    const sentence = `Connection "${connection.name}": ${fault}, since ${rfc3339(faultSince)}`;
    health.set(conditionOf(connection), sentence);
    const faulty = this.#faulty.get(what) ?? { connection, isReported: false };
    this.#faulty.set(what, faulty);
    await this.#note(connection, { fault });
    if (broken !== true && now - faultSince < TOO_LONG_MS || faulty.isReported) return;
    faulty.isReported = true;
    if (before?.fault !== fault) this.#report("connection.broken", connection, fault);
  }

  /** Whether it is time for a note without news. */
  #isDue(what: string): boolean {
    const now = this.#host.clock.monotonicMs();
    if (now - (this.#notedAt.get(what) ?? -Infinity) < NOTE_EVERY_MS) return false;
    this.#notedAt.set(what, now);
    return true;
  }

  /** Reports an incident in the log and to Notifications. */
  #report(kind: IncidentKind, connection: Connection, why: string): void {
    const { project, name, spec } = connection;
    const isLost = kind === "gap.lost";
    const reason = isLost ? `Events of ${connectedTo(spec)} are lost: ${why}` : why;
    const facts = { project, connection: name, reason };
    this.#host.log.error(isLost ? "events are lost" : "a Connection is broken", facts);
    this.#host.events.publish("incidentHappened", { kind, project, connection: name, reason });
  }

  async #note(
    { project, name, createdAt }: Connection,
    news: ConnectionNews,
  ): Promise<ConnectionState> {
    const { store, clock } = this.#host;
    return await store.noteConnection({ project, name, createdAt }, news, clock.now());
  }
}

function keyOf({ project, name }: Connection): string {
  return `${project}\n${name}`;
}
