/**
 * The source of Slack events without an address: one socket for each Connection with
 * `events: socket`, opened and closed as Connections come and go.
 *
 * @module
 */

import { rfc3339 } from "../base/clock.ts";
import { defined } from "../base/defined.ts";
import type { HealthConditions } from "../base/health_conditions.ts";
import { messageOf } from "../base/errors.ts";
import { toJson } from "../base/json.ts";
import type { Log } from "../base/log.ts";
import { SerialRunner } from "../base/serial_runner.ts";
import { conditionOf, type Connection, readToken } from "../connections/find_connection.ts";
import { SlackSocket, type SocketState, type SocketStates } from "../connections/slack/socket.ts";
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
import { type EnvelopeHost, receiversOf, storeEnvelope } from "./slack_envelope.ts";

/** What {@linkcode SlackSockets} needs. */
export interface SlackSocketsHost extends EnvelopeHost {
  readonly store: EnvelopeHost["store"] & ConnectionStore & Pick<NodeStore, "listNodes">;
  readonly catalog: Catalog;
  readonly events: Events;
  readonly health: HealthConditions;
  readonly log: Log;
  /** Hides secrets in what Slack says. */
  readonly secrets: KnownSecrets;
}

/** A Connection, and its socket while it has one. */
interface Served {
  readonly connection: Connection;
  /** What makes it another one. */
  readonly identity: string;
  /** The app-level token at the last look: another one is worth another attempt. */
  token: string | undefined;
  socket: SlackSocket | undefined;
  /** Why it has no socket. */
  problem: string | undefined;
  /** Up to when its last event was noted. */
  notedEventAt: number;
}

/** Time between two notes of how far the events have come. */
const NOTE_EVERY_MS = 60_000;
/** Name of the mark in the state of a Connection up to which events have come. */
const MARK = "socket";

/** Opens and closes sockets until disposed. */
export class SlackSockets implements AsyncDisposable, SocketStates {
  readonly #host: SlackSocketsHost;
  readonly #served = new Map<string, Served>();
  readonly #looks: SerialRunner;
  readonly #subscription: Disposable;
  readonly #notes: Disposable;

  /** Opens those of the catalog. */
  constructor(host: SlackSocketsHost) {
    this.#host = host;
    const { events, clock, log } = host;
    this.#looks = new SerialRunner({
      run: () => this.#look(),
      onError: (error) => log.error("Slack sockets could not be maintained", { error }),
      clock,
    });
    this.#subscription = events.on("resourcesChanged", () => this.#looks.kick());
    this.#notes = clock.every(NOTE_EVERY_MS, () => this.#noteAll());
    this.#looks.kick();
  }

  /** How the socket of a Connection is doing; `undefined` where it is to have none. */
  stateOf({ project, name }: { project: string; name: string }): SocketState | undefined {
    const served = this.#served.get(`${project}/${name}`);
    if (served === undefined) return undefined;
    const state = served.socket?.state ??
      (served.problem === undefined ? {} : { problem: served.problem });
    return this.#host.secrets.redactAll(state);
  }

  /** Tries again at once, with what is in the catalog now; resolves when that worked or failed. */
  async retry({ project, name }: { project: string; name: string }): Promise<void> {
    this.#looks.kick();
    await this.#looks.settled();
    await this.#served.get(`${project}/${name}`)?.socket?.retry();
  }

  /** Closes all of them. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#subscription[Symbol.dispose]();
    this.#notes[Symbol.dispose]();
    await this.#looks[Symbol.asyncDispose]();
    const notes = this.#noteAll();
    await Promise.all(
      [...this.#served.values()].map(({ socket }) => socket?.[Symbol.asyncDispose]()),
    );
    await notes;
  }

  async #look(): Promise<undefined> {
    const { catalog } = this.#host;
    const wanted = new Map(
      (catalog.list("Connection") as Connection[])
        .filter(({ spec }) => spec.slack?.events === "socket")
        .map((one) => [`${one.project}/${one.name}`, one]),
    );
    for (const [key, served] of this.#served) {
      const now = wanted.get(key);
      if (now !== undefined && identityOf(now) === served.identity) continue;
      await served.socket?.[Symbol.asyncDispose]();
      this.#served.delete(key);
      this.#host.health.clear(conditionOf(served.connection));
    }
    for (const [key, connection] of wanted) {
      const served = this.#served.get(key);
      if (served === undefined) await this.#serve(key, connection);
      else await this.#lookAgain(served);
    }
  }

  async #serve(key: string, connection: Connection): Promise<void> {
    const served: Served = {
      connection,
      identity: identityOf(connection),
      token: undefined,
      socket: undefined,
      problem: undefined,
      notedEventAt: 0,
    };
    this.#served.set(key, served);
    await this.#lookAgain(served);
  }

  /** Closes the socket where nobody takes its events any more, and opens it where somebody does. */
  async #lookAgain(served: Served): Promise<void> {
    const { connection } = served;
    const problem = this.#whyNobody(connection);
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

  #whyNobody(connection: Connection): string | undefined {
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
      return undefined; // the socket says why
    }
  }

  #token(connection: Connection): string {
    const { appToken } = connection.spec.slack ?? {};
    if (appToken === undefined) throw new Error("Socket Mode without an app-level token");
    return readToken(connection, appToken, this.#host.catalog);
  }

  async #open({ connection }: Served): Promise<SlackSocket> {
    const { store, clock, log } = this.#host;
    const { project, name, createdAt, spec } = connection;
    const known = (await store.listConnectionStates()).find((one) =>
      one.project === project && one.name === name && one.createdAt === createdAt
    );
    const since = known?.marks[MARK];
    return new SlackSocket({
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

  #noted(connection: Connection, said: string | undefined, isBroken: boolean): void {
    const problem = said === undefined ? undefined : this.#host.secrets.redact(said);
    void this.#noteFault(connection, problem);
    if (!isBroken || problem === undefined) return;
    const { project, name } = connection;
    const incident = { kind: "connection.broken", project, connection: name } as const;
    this.#host.events.publish("incidentHappened", { ...incident, reason: problem });
  }

  /** Shows what is wrong in `svc status`, and since when as soon as that is known. */
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
      return this.#note(served.connection, {
        marks: { [MARK]: heardAt },
        ...(isNew ? { lastEventAt } : {}),
      });
    }));
  }

  /** The state afterwards; `undefined` where it could not be noted. */
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

/** A Connection that was changed, or made anew, is served anew. */
function identityOf({ createdAt, spec }: Connection): string {
  return toJson([createdAt, spec.slack]);
}
