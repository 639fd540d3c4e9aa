/**
 * The source of Slack events without an address: one socket for each Connection with
 * `events: socket`, opened and closed as Connections come and go.
 *
 * @module
 */

import { rfc3339 } from "../base/clock.ts";
import type { Core } from "../base/core.ts";
import { defined } from "../base/defined.ts";
import type { HealthConditions } from "../base/health_conditions.ts";
import { messageOf } from "../base/errors.ts";
import { toJson } from "../base/json.ts";
import { SerialRunner } from "../base/serial_runner.ts";
import { conditionOf, type Connection, readToken } from "../connections/find_connection.ts";
import {
  SocketMode,
  type SocketState,
  type SocketStates,
} from "../connections/slack/socket_mode.ts";
import { openSocket } from "../connections/slack/websocket.ts";
import type { Catalog } from "../resources/catalog.ts";
import { apiUrlOf } from "../resources/connection.ts";
import type { KnownSecrets } from "../secrets/known_secrets.ts";
import type {
  ConnectionKey,
  ConnectionNews,
  ConnectionState,
} from "../store/connection_records.ts";
import type { ConnectionStore } from "../store/connection_store.ts";
import type { Events } from "../store/events.ts";
import type { NodeStore } from "../store/node_store.ts";
import { compareServed } from "./served_connections.ts";
import { type EnvelopeHost, receiversOf, storeEnvelope } from "./slack_envelope.ts";

/** Connections and their states, and the parts that store the events of their sockets. */
export interface SlackSocketsHost extends EnvelopeHost, Core {
  readonly store: EnvelopeHost["store"] & ConnectionStore & Pick<NodeStore, "listNodes">;
  readonly catalog: Catalog;
  readonly events: Events;
  readonly health: HealthConditions;
  /** Hides secrets in the messages of Slack. */
  readonly secrets: KnownSecrets;
}

/** A Connection, and its socket while it has one. */
interface Served {
  readonly connection: Connection;
  /** The app-level token at the last update: a new token is worth another attempt. */
  token: string | undefined;
  socket: SocketMode | undefined;
  /** Why it has no socket. */
  problem: string | undefined;
  /** `lastEventAt` of the last note. */
  notedEventAt: number;
}

/** Time between two notes of the time up to which events have come. */
const NOTE_EVERY_MS = 60_000;
/** The mark in the state of a Connection that has the time up to which events have come. */
const MARK = "socket";

/** Keeps the sockets of all Connections open until disposed. */
export class SlackSockets implements AsyncDisposable, SocketStates {
  readonly #host: SlackSocketsHost;
  /** The Connections that are served, by {@linkcode identityOf}. */
  readonly #served = new Map<string, Served>();
  readonly #updates: SerialRunner;
  readonly #subscription: Disposable;
  readonly #notes: Disposable;

  constructor(host: SlackSocketsHost) {
    this.#host = host;
    const { events, clock, log } = host;
    this.#updates = new SerialRunner({
      run: () => this.#update(),
      onError: (error) => log.error("Slack sockets could not be maintained", { error }),
      clock,
    });
    this.#subscription = events.on("resourcesChanged", () => this.#updates.kick());
    this.#notes = clock.every(NOTE_EVERY_MS, () => this.#noteAll());
    this.#updates.kick();
  }

  /** The state of a Connection; `undefined` if it does not use Socket Mode. */
  stateOf(key: { project: string; name: string }): SocketState | undefined {
    const served = this.#find(key);
    if (served === undefined) return undefined;
    const state = served.socket?.state ?? defined({ problem: served.problem });
    return this.#host.secrets.redactAll(state);
  }

  /** Tries again with the catalog as it is now; resolves when that has worked or failed. */
  async retry(key: { project: string; name: string }): Promise<void> {
    this.#updates.kick();
    await this.#updates.settled();
    await this.#find(key)?.socket?.retry();
  }

  #find({ project, name }: { project: string; name: string }): Served | undefined {
    return this.#served.values().find(({ connection }) =>
      connection.project === project && connection.name === name
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#subscription[Symbol.dispose]();
    this.#notes[Symbol.dispose]();
    await this.#updates[Symbol.asyncDispose]();
    const notes = this.#noteAll();
    await Promise.all(
      [...this.#served.values()].map(({ socket }) => socket?.[Symbol.asyncDispose]()),
    );
    await notes;
  }

  async #update(): Promise<undefined> {
    const { catalog, health } = this.#host;
    const { gone, added } = compareServed(this.#served, catalog, identityOf);
    for (const [identity, { connection, socket }] of gone) {
      await socket?.[Symbol.asyncDispose]();
      this.#served.delete(identity);
      health.clear(conditionOf(connection));
    }
    for (const [identity, connection] of added) {
      this.#served.set(identity, {
        connection,
        token: undefined,
        socket: undefined,
        problem: undefined,
        notedEventAt: 0,
      });
    }
    for (const served of this.#served.values()) await this.#updateSocket(served);
  }

  /** Closes the socket if no trigger takes its events, and opens it if one does. */
  async #updateSocket(served: Served): Promise<void> {
    const { connection } = served;
    const problem = this.#whyUnused(connection);
    const token = this.#findToken(connection);
    if (problem !== undefined) {
      await served.socket?.[Symbol.asyncDispose]();
      served.socket = undefined;
      if (served.problem !== problem) this.#noted(connection, problem, true);
    } else if (served.socket === undefined) {
      if (served.problem !== undefined) this.#noted(connection, undefined, false);
      served.socket = await this.#open(served);
    } else if (token !== served.token) {
      void served.socket.retry();
    }
    served.problem = problem;
    served.token = token;
  }

  #whyUnused(connection: Connection): string | undefined {
    try {
      receiversOf(connection, this.#host.triggers);
      return undefined;
    } catch (error) {
      return messageOf(error);
    }
  }

  #findToken(connection: Connection): string | undefined {
    try {
      return this.#token(connection);
    } catch {
      return undefined; // the state of the socket says why
    }
  }

  #token(connection: Connection): string {
    const { appToken } = connection.spec.slack ?? {};
    if (appToken === undefined) throw new Error("Socket Mode without an app-level token");
    return readToken(connection, appToken, this.#host.catalog);
  }

  async #open({ connection }: Served): Promise<SocketMode> {
    const { store, clock, log } = this.#host;
    const { project, name, createdAt, spec } = connection;
    const known = (await store.listConnectionStates()).find((state) =>
      state.project === project && state.name === name && state.createdAt === createdAt
    );
    const since = known?.marks[MARK];
    return new SocketMode({
      name: `${project}/${name}`,
      api: apiUrlOf(spec),
      token: () => this.#token(connection),
      store: (envelope) => storeEnvelope(envelope, connection, this.#host),
      noted: (problem, isBroken) => this.#noted(connection, problem, isBroken),
      countSiblings: async () =>
        (await store.listNodes()).filter(({ isAlive, isSelf }) => isAlive && !isSelf).length,
      missed: (from, to) => this.#missed(connection, from, to),
      ...defined({ since }),
      openSocket,
      clock,
      log,
    });
  }

  #noted(connection: Connection, message: string | undefined, isBroken: boolean): void {
    const problem = message && this.#host.secrets.redact(message);
    void this.#noteFault(connection, problem);
    if (!isBroken || problem === undefined) return;
    const { project, name } = connection;
    const incident = { kind: "connection.broken", project, connection: name } as const;
    this.#host.events.publish("incidentHappened", { ...incident, reason: problem });
  }

  /** Shows a problem in `svc status`, and since when it lasts as soon as the store has said so. */
  async #noteFault(connection: Connection, problem: string | undefined): Promise<void> {
    const { health } = this.#host;
    const condition = conditionOf(connection);
    if (problem === undefined) {
      health.clear(condition);
      return void await this.#note(connection, { fault: null });
    }
    const sentence = `Connection "${connection.name}": ${problem}`;
    health.set(condition, sentence);
    const { faultSince } = await this.#note(connection, { fault: problem }) ?? {};
    const isOver = health.find(condition) !== sentence;
    if (isOver || faultSince === undefined) return;
    health.set(condition, `${sentence}, since ${rfc3339(faultSince)}`);
  }

  #missed(connection: Connection, from: number, to: number): void {
    const { project, name } = connection;
    const reason =
      `No socket was open from ${rfc3339(from)} to ${rfc3339(to)}, and Slack repeats an event ` +
      "for only five minutes: look in Slack for earlier events";
    this.#host.log.warn("events of Slack may be lost", {
      connection: `${project}/${name}`,
      reason,
    });
    this.#note(connection, { gap: { from, to, repaired: 0, lost: 0, reason } });
    const incident = { kind: "gap.lost", project, connection: name } as const;
    this.#host.events.publish("incidentHappened", { ...incident, reason });
  }

  async #noteAll(): Promise<void> {
    await Promise.all([...this.#served.values()].map((served) => {
      const { heardAt, lastEventAt = 0 } = served.socket?.state ?? {};
      if (heardAt === undefined) return undefined;
      const isNew = lastEventAt > served.notedEventAt;
      served.notedEventAt = lastEventAt;
      const marks = { [MARK]: heardAt };
      return this.#note(served.connection, isNew ? { marks, lastEventAt } : { marks });
    }));
  }

  /** Resolves to the state afterwards, or to `undefined` if it could not be stored. */
  async #note(
    { project, name, createdAt }: ConnectionKey,
    news: ConnectionNews,
  ): Promise<ConnectionState | undefined> {
    const { store, clock, log } = this.#host;
    try {
      return await store.noteConnection({ project, name, createdAt }, news, clock.now());
    } catch (error) {
      log.warn("the state of a Connection could not be stored", { project, name, error });
      return undefined;
    }
  }
}

/** A Connection that was changed, or deleted and made again, gets a new socket. */
function identityOf({ project, name, createdAt, spec }: Connection): string | undefined {
  return spec.slack?.events === "socket"
    ? toJson([project, name, createdAt, spec.slack])
    : undefined;
}
