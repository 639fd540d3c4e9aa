/**
 * Socket Mode of one Connection: its events without a public address. Keeps one WebSocket open until
 * disposed; when Slack wants another one, the old one stays until the new one is open. An event is
 * acknowledged once it is on disk, never before: Slack repeats an event without acknowledgement.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { AppError, messageOf } from "../../base/errors.ts";
import type { Core } from "../../base/core.ts";
import { SparseLog } from "../../base/sparse_log.ts";
import { callSlack } from "./slack_client.ts";
import { EnvelopeQueue, type EnvelopeStore } from "./envelope_queue.ts";
import { SlackSocket } from "./slack_socket.ts";
import { failureOf, foreignMessage, type SocketFailure } from "./socket_failure.ts";
import type { OpenSocket } from "./websocket.ts";

/** The app and its token, the store of its events, and the listener to its state. */
export interface SocketModeHost extends EnvelopeStore, Core {
  /** Base URL of the Web API, without a slash at its end. */
  readonly api: string;
  /**
   * Reads the current app-level token.
   *
   * @throws {AppError} `refused` if there is none.
   */
  readonly token: () => string;
  /**
   * Called when the problem changes: one sentence without a full stop, `undefined` for none.
   * `isBroken` is true once for each problem that only a person can solve.
   */
  readonly noted: (problem: string | undefined, isBroken: boolean) => void;
  /** Counts the other daemons of the database: each has a socket of its own for the same app. */
  readonly countSiblings: () => Promise<number>;
  /** Called when no socket was open for so long that Slack has given events up. */
  readonly missed: (fromMs: number, toMs: number) => void;
  /** Milliseconds since the epoch up to which events have come; now if absent. */
  readonly since?: number;
  readonly openSocket: OpenSocket;
}

/** The state of Socket Mode of one Connection. */
export interface SocketState {
  /** Milliseconds since the epoch; absent while none is open. */
  readonly connectedSince?: number;
  /** Milliseconds since the epoch when the last event came. */
  readonly lastEventAt?: number;
  /** Milliseconds since the epoch up to when events have come; absent before any could. */
  readonly heardAt?: number;
  /** One sentence without a full stop. */
  readonly problem?: string;
}

/** Socket Mode of each Connection of a daemon. */
export interface SocketStates {
  /** The state of a Connection; `undefined` if it does not use Socket Mode. */
  stateOf(at: { readonly project: string; readonly name: string }): SocketState | undefined;
  /** Tries again at once; resolves when that has worked or failed. */
  retry(at: { readonly project: string; readonly name: string }): Promise<void>;
}

/** Longest wait for Slack's hello. */
const HELLO_MS = 15_000;
/** Pauses between attempts: doubled from the first to the last. */
const FIRST_PAUSE_MS = 1000;
const LAST_PAUSE_MS = 60_000;
/** Pause after a problem that only a person can solve; {@linkcode SocketMode.retry} ends it. */
const BROKEN_PAUSE_MS = 5 * 60_000;
/** How long an old socket may stay beside a new one, and the most sockets at a time. */
const RETIRE_MS = 30_000;
const MAX_SOCKETS = 3;
/** A socket that was open for less counts as a failed attempt, so that attempts become rarer. */
const SHORT_MS = 10_000;
/** Slack sends an event at once, after one minute and after five, and then gives it up. */
const REPEATED_MS = 5 * 60_000;
/** How long the end of the daemon waits for the envelope that is being stored. */
const STOP_WITHIN_MS = 2000;

/** The Socket Mode of one app, until disposed. */
export class SocketMode implements AsyncDisposable {
  readonly #host: SocketModeHost;
  readonly #stopping = new AbortController();
  /** The sockets that have not ended. */
  readonly #sockets = new Set<SlackSocket>();
  /** The sockets on which Slack no longer answers. */
  readonly #silent = new Set<SlackSocket>();
  readonly #envelopes: EnvelopeQueue;
  /** For events that Slack can cause as often as it likes. */
  readonly #sparseLog: SparseLog;
  readonly #running: Promise<void>;
  #current: SlackSocket | undefined;
  #problem: string | undefined;
  /** Whether `noted` has been called with `isBroken` for the current problem. */
  #isBreakNoted = false;
  /** Milliseconds since the epoch since when no socket has been open; absent while one is. */
  #awaySince: number | undefined;
  #isResting = false;
  #isEnded = false;
  /** Resolves when the next attempt, or the current one, has ended. */
  #attempt = Promise.withResolvers<void>();
  /** Ends the pause before the next attempt. */
  #wake = new AbortController();

  /** Opens the first socket. */
  constructor(host: SocketModeHost) {
    this.#host = host;
    this.#awaySince = host.since ?? host.clock.now();
    this.#sparseLog = new SparseLog(host);
    this.#envelopes = new EnvelopeQueue(host, this.#sparseLog);
    this.#running = this.#run();
  }

  get state(): SocketState {
    const socket = this.#current;
    const { lastEventAt } = this.#envelopes;
    const heardAt = socket?.heardAt ?? this.#awaySince;
    const connectedSince = socket?.openedAt;
    return defined({ connectedSince, heardAt, lastEventAt, problem: this.#problem });
  }

  /**
   * Ends a pause and tries again, for example after a token was set. Resolves when the attempt has
   * worked or failed, as the state then says; at once while a socket is open.
   */
  async retry(): Promise<void> {
    const isUnderWay = !this.#isResting;
    this.#wake.abort();
    if (this.#current === undefined) await this.#attempt.promise;
    // An attempt that was under way may have begun before the change, so the next one counts.
    if (isUnderWay && this.#current === undefined) await this.#attempt.promise;
  }

  /** Closes all sockets; Slack repeats the events that were not acknowledged. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    this.#wake.abort();
    const { promise: late, resolve } = Promise.withResolvers<void>();
    using _timer = this.#host.clock.after(STOP_WITHIN_MS, resolve);
    await Promise.race([this.#envelopes[Symbol.asyncDispose](), late]);
    await Promise.all([...this.#sockets].map((socket) => socket.close()));
    await this.#running;
    this.#isEnded = true;
    this.#endTry();
    this.#sparseLog[Symbol.dispose]();
  }

  async #run(): Promise<void> {
    let failures = 0;
    while (!this.#stopping.signal.aborted) {
      this.#wake = new AbortController();
      const opened = await this.#open();
      const failure = opened instanceof SlackSocket ? await this.#use(opened) : opened;
      if (failure === undefined) failures = 0;
      else await this.#rest(failure, ++failures);
    }
  }

  /** Opens a socket and waits for Slack's hello. */
  async #open(): Promise<SlackSocket | SocketFailure> {
    const url = await this.#fetchUrl();
    if (typeof url !== "string") return url;
    const { clock, openSocket } = this.#host;
    const socket = new SlackSocket(url, {
      openSocket,
      clock,
      received: (envelope, socket) => this.#envelopes.add(envelope, socket),
      unknown: (why) =>
        this.#sparseLog.warn("Slack sent something that svc cannot read", {
          connection: this.#host.name,
          why,
        }),
    });
    const [oldest] = this.#sockets;
    if (this.#sockets.size >= MAX_SOCKETS) oldest?.drop();
    this.#sockets.add(socket);
    socket.ended.then(() => this.#forget(socket));
    using _late = clock.after(HELLO_MS, () => socket.drop());
    const why = await socket.greeted;
    if (why === undefined && !this.#stopping.signal.aborted) return socket;
    socket.drop();
    return failureOf(why ?? "ended", socket.why);
  }

  /** Asks Slack for the address of the next WebSocket, which can be used once. */
  async #fetchUrl(): Promise<string | SocketFailure> {
    const { api, token, clock } = this.#host;
    const { signal } = this.#stopping;
    try {
      const answer = await callSlack({ api, token, clock, signal }, "apps.connections.open");
      if (signal.aborted) return { message: "The daemon is stopping", isBroken: false };
      if (!answer.ok) {
        const { message, kind, retryAfterSecs } = answer;
        const pauseMs = retryAfterSecs && retryAfterSecs * 1000;
        return { message, isBroken: kind === "refused", ...defined({ pauseMs }) };
      }
      const { url } = answer.data;
      if (typeof url === "string" && isSafe(url, api)) return url;
      return { message: "Slack named no wss:// address for the socket", isBroken: false };
    } catch (error) {
      // The token is missing; a person has to set it.
      return { message: messageOf(error), isBroken: error instanceof AppError };
    }
  }

  /** Uses a socket until another one is needed; gives the failure if a pause has to come first. */
  async #use(socket: SlackSocket): Promise<SocketFailure | undefined> {
    const { clock } = this.#host;
    this.#begin(socket);
    const why = await socket.replaceReason;
    if (why === "silent") this.#leave(socket);
    const goesOn = why === "refresh" || why === "silent";
    if (this.#stopping.signal.aborted) return undefined;
    if ((goesOn || why === "ended") && clock.now() - socket.openedAt >= SHORT_MS) return undefined;
    if (!goesOn) socket.drop();
    return failureOf(why, socket.why);
  }

  #begin(socket: SlackSocket): void {
    const { clock, missed } = this.#host;
    const from = this.#awaySince;
    if (from !== undefined && clock.now() - from > REPEATED_MS) missed(from, clock.now());
    this.#awaySince = undefined;
    this.#current = socket;
    this.#isBreakNoted = false;
    void this.#noteForeign(socket, socket.connections - this.#sockets.size);
    for (const silent of this.#silent) silent.drop();
    // Slack closes an old socket itself, after it has delivered what was on its way.
    for (const old of this.#sockets) if (old !== socket) old.retire(RETIRE_MS);
    this.#log("info", "connected to Slack");
    this.#endTry();
  }

  /** Notes how many of the `others` belong to no daemon; none if the daemons cannot be counted. */
  async #noteForeign(socket: SlackSocket, others: number): Promise<void> {
    if (others <= 0) return this.#note(undefined);
    const siblings = await this.#host.countSiblings().catch(() => others);
    if (this.#isEnded || socket !== this.#current) return;
    this.#note(others > siblings ? foreignMessage(others - siblings) : undefined);
  }

  #endTry(): void {
    this.#attempt.resolve();
    if (!this.#isEnded) this.#attempt = Promise.withResolvers();
  }

  /** Replaces a silent socket; it is dropped as soon as another one is open. */
  #leave(socket: SlackSocket): void {
    this.#silent.add(socket);
    this.#away(socket);
    this.#log("warn", "the connection to Slack has gone silent, opening another one");
  }

  #forget(socket: SlackSocket): void {
    this.#sockets.delete(socket);
    this.#silent.delete(socket);
    this.#away(socket);
  }

  #away(socket: SlackSocket): void {
    if (this.#current !== socket) return;
    this.#current = undefined;
    this.#awaySince = socket.heardAt;
  }

  /** Waits before the next attempt. */
  async #rest({ message, isBroken, pauseMs }: SocketFailure, failures: number): Promise<void> {
    const { signal } = this.#stopping;
    if (signal.aborted) return;
    this.#note(message, isBroken);
    this.#endTry();
    const doubled = Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LAST_PAUSE_MS);
    this.#isResting = true;
    await this.#host.clock.pause(
      pauseMs ?? (isBroken ? BROKEN_PAUSE_MS : doubled),
      AbortSignal.any([signal, this.#wake.signal]),
    );
    this.#isResting = false;
  }

  #note(problem: string | undefined, isBroken = false): void {
    const isNewBreak = isBroken && !this.#isBreakNoted;
    if (isNewBreak) this.#isBreakNoted = true;
    if (problem === this.#problem && !isNewBreak) return;
    this.#problem = problem;
    if (problem !== undefined) this.#log("warn", "Slack's Socket Mode", { reason: problem });
    this.#host.noted(problem, isNewBreak);
  }

  #log(level: "info" | "warn", message: string, facts: Record<string, unknown> = {}): void {
    this.#host.log[level](message, { connection: this.#host.name, ...facts });
  }
}

/** Unencrypted only if the API itself is, as in tests and behind proxies. */
function isSafe(url: string, api: string): boolean {
  const protocol = URL.parse(url)?.protocol;
  return protocol === "wss:" || (protocol === "ws:" && api.startsWith("http:"));
}
