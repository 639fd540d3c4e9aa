/**
 * Socket Mode of one Connection: its events without an address of ours. Keeps one WebSocket open for
 * as long as it lives; where Slack wants another one, the old one goes on until the new one is there.
 * An event is acknowledged when it is on disk, never before: Slack sends it again otherwise.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { AppError, messageOf } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { SparseLog } from "../../base/sparse_log.ts";
import { callSlack } from "./client.ts";
import { EnvelopeQueue, type EnvelopeStore } from "./envelope_queue.ts";
import { Line } from "./line.ts";
import { foreignMessage, type Setback, setbackOf } from "./setback.ts";
import type { OpenSocket } from "./websocket.ts";

/** What a socket needs. */
export interface SocketHost extends EnvelopeStore {
  /** Base URL of the Web API, without a slash at its end. */
  readonly api: string;
  /**
   * The app-level token as it is now.
   *
   * @throws {AppError} `refused` when there is none.
   */
  readonly token: () => string;
  /**
   * Told what is wrong whenever that changes: one sentence without a full stop, `undefined` where
   * nothing is. `isBroken`: nothing works until somebody mends it; told as such once.
   */
  readonly noted: (problem: string | undefined, isBroken: boolean) => void;
  /** How many other daemons share the database: each has a socket of its own for the same app. */
  readonly countSiblings: () => Promise<number>;
  /** Told when none was open for so long that Slack has given events up. */
  readonly missed: (fromMs: number, toMs: number) => void;
  /** Up to when events have come; from now on when absent. */
  readonly since?: number;
  readonly openSocket: OpenSocket;
  readonly log: Log;
}

/** How a socket is doing. */
export interface SocketState {
  /** Milliseconds since the epoch; absent while none is open. */
  readonly connectedSince?: number;
  /** Milliseconds since the epoch when the last event came. */
  readonly lastEventAt?: number;
  /** Milliseconds since the epoch up to when events have come; absent before any could. */
  readonly heardAt?: number;
  /** What is wrong, one sentence without a full stop. */
  readonly problem?: string;
}

/** The sockets of a daemon, by Connection. */
export interface SocketStates {
  /** How one is doing; `undefined` where there is to be none. */
  stateOf(at: { readonly project: string; readonly name: string }): SocketState | undefined;
  /** Tries again at once; resolves when that has worked or failed. */
  retry(at: { readonly project: string; readonly name: string }): Promise<void>;
}

/** Longest wait for Slack's hello. */
const HELLO_MS = 15_000;
/** Pauses between attempts: doubled from the first to the last. */
const FIRST_PAUSE_MS = 1000;
const LAST_PAUSE_MS = 60_000;
/** Pause where somebody has to mend something first; {@linkcode SlackSocket.retry} ends it. */
const BROKEN_PAUSE_MS = 5 * 60_000;
/** How long an old line may stay beside a new one, and most that there are at a time. */
const RETIRE_MS = 30_000;
const MAX_LINES = 3;
/** A line that was open for less counts as a failed attempt, so that attempts become rarer. */
const SHORT_MS = 10_000;
/** Slack sends an event at once, a minute and five minutes later, and then no more. */
const KEPT_MS = 5 * 60_000;
/** How long the end of the daemon waits for the envelope that is being stored. */
const STOP_WITHIN_MS = 2000;

/** The Socket Mode of one app, until disposed. */
export class SlackSocket implements AsyncDisposable {
  readonly #host: SocketHost;
  readonly #stopping = new AbortController();
  /** Every line that is not over. */
  readonly #lines = new Set<Line>();
  /** Those on which nobody answers any more. */
  readonly #silent = new Set<Line>();
  readonly #envelopes: EnvelopeQueue;
  /** What the other side can cause as often as it likes. */
  readonly #sparseLog: SparseLog;
  readonly #running: Promise<void>;
  #current: Line | undefined;
  #problem: string | undefined;
  /** Whether the problem was told to `broken`. */
  #told = false;
  /** Since when none has been open, in milliseconds since the epoch; absent while one is. */
  #awaySince: number | undefined;
  #isResting = false;
  #isEnded = false;
  /** Resolves when the attempt to come, or under way, is over. */
  #tried = Promise.withResolvers<void>();
  /** Ends the pause before the next attempt. */
  #wake = new AbortController();

  /** Opens it. */
  constructor(host: SocketHost) {
    this.#host = host;
    this.#awaySince = host.since ?? host.clock.now();
    this.#sparseLog = new SparseLog(host);
    this.#envelopes = new EnvelopeQueue(host, this.#sparseLog);
    this.#running = this.#run();
  }

  /** How it is doing. */
  get state(): SocketState {
    const line = this.#current;
    const { lastEventAt } = this.#envelopes;
    const heardAt = line?.heardAt ?? this.#awaySince;
    return defined({
      connectedSince: line?.openedAt,
      heardAt,
      lastEventAt,
      problem: this.#problem,
    });
  }

  /**
   * Tries again at once where it waits: what it needs may be different now. Resolves when that has
   * worked or failed, which the state tells then; at once while it is open.
   */
  async retry(): Promise<void> {
    const isUnderWay = !this.#isResting;
    this.#wake.abort();
    if (this.#current === undefined) await this.#tried.promise;
    // What was under way may have begun before whatever is different now.
    if (isUnderWay && this.#current === undefined) await this.#tried.promise;
  }

  /** Ends it; what was not acknowledged, Slack sends again. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    this.#wake.abort();
    const { promise: late, resolve } = Promise.withResolvers<void>();
    using _timer = this.#host.clock.after(STOP_WITHIN_MS, resolve);
    await Promise.race([this.#envelopes[Symbol.asyncDispose](), late]);
    await Promise.all([...this.#lines].map((line) => line.close()));
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
      const setback = opened instanceof Line ? await this.#use(opened) : opened;
      if (setback === undefined) failures = 0;
      else await this.#rest(setback, ++failures);
    }
  }

  /** Opens a line and waits for Slack's hello. */
  async #open(): Promise<Line | Setback> {
    const url = await this.#ticket();
    if (typeof url !== "string") return url;
    const { clock, openSocket } = this.#host;
    const line = new Line(url, {
      openSocket,
      clock,
      received: (envelope, line) => this.#envelopes.add(envelope, line),
      unknown: (why) =>
        this.#sparseLog.warn("Slack sent something that svc cannot read", {
          connection: this.#host.name,
          why,
        }),
    });
    const [oldest] = this.#lines;
    if (this.#lines.size >= MAX_LINES) oldest?.drop();
    this.#lines.add(line);
    line.ended.then(() => this.#forget(line));
    using _late = clock.after(HELLO_MS, () => line.drop());
    const why = await line.greeted;
    if (why === undefined && !this.#stopping.signal.aborted) return line;
    line.drop();
    return setbackOf(why ?? "ended", line);
  }

  /** The address of the next WebSocket, which is good for one time. */
  async #ticket(): Promise<string | Setback> {
    const { api, token, clock } = this.#host;
    const { signal } = this.#stopping;
    try {
      const answer = await callSlack({ api, token, clock, signal }, "apps.connections.open");
      if (signal.aborted) return { message: "The daemon is stopping", isBroken: false };
      if (!answer.ok) {
        const { message, kind, retryAfterSecs } = answer;
        const asked = retryAfterSecs === undefined ? {} : { pauseMs: retryAfterSecs * 1000 };
        return { message, isBroken: kind === "refused", ...asked };
      }
      const { url } = answer.data;
      if (typeof url === "string" && isSafe(url, api)) return url;
      return { message: "Slack named no wss:// address for the socket", isBroken: false };
    } catch (error) {
      // A token that is not there, which somebody has to set.
      return { message: messageOf(error), isBroken: error instanceof AppError };
    }
  }

  /** Uses a line until another one is needed; gives why there has to be a pause first. */
  async #use(line: Line): Promise<Setback | undefined> {
    const { clock } = this.#host;
    this.#begin(line);
    const why = await line.successor;
    if (why === "silent") this.#leave(line);
    const goesOn = why === "refresh" || why === "silent";
    if (this.#stopping.signal.aborted) return undefined;
    if ((goesOn || why === "ended") && clock.now() - line.openedAt >= SHORT_MS) return undefined;
    if (!goesOn) line.drop();
    return setbackOf(why, line);
  }

  #begin(line: Line): void {
    const { clock, missed } = this.#host;
    const from = this.#awaySince;
    if (from !== undefined && clock.now() - from > KEPT_MS) missed(from, clock.now());
    this.#awaySince = undefined;
    this.#current = line;
    this.#told = false;
    void this.#noteForeign(line, line.connections - this.#lines.size);
    for (const one of this.#silent) one.drop();
    // Slack closes the old ones itself, once they have brought what was on its way.
    for (const one of this.#lines) if (one !== line) one.retire(RETIRE_MS);
    this.#log("info", "connected to Slack");
    this.#endTry();
  }

  /** Notes which of so many other sockets are no daemon's; none where that cannot be known. */
  async #noteForeign(line: Line, others: number): Promise<void> {
    if (others <= 0) return this.#note(undefined);
    const siblings = await this.#host.countSiblings().catch(() => others);
    if (this.#isEnded || line !== this.#current) return;
    this.#note(others > siblings ? foreignMessage(others - siblings) : undefined);
  }

  #endTry(): void {
    this.#tried.resolve();
    if (!this.#isEnded) this.#tried = Promise.withResolvers();
  }

  /** A line on which nobody answers is dropped as soon as there is another one. */
  #leave(line: Line): void {
    this.#silent.add(line);
    this.#away(line);
    this.#log("warn", "the connection to Slack has gone silent, opening another one");
  }

  #forget(line: Line): void {
    this.#lines.delete(line);
    this.#silent.delete(line);
    this.#away(line);
  }

  #away(line: Line): void {
    if (this.#current !== line) return;
    this.#current = undefined;
    this.#awaySince = line.heardAt;
  }

  /** Waits before the next attempt. */
  async #rest({ message, isBroken, pauseMs }: Setback, failures: number): Promise<void> {
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
    const tells = isBroken && !this.#told;
    if (tells) this.#told = true;
    if (problem === this.#problem && !tells) return;
    this.#problem = problem;
    if (problem !== undefined) this.#log("warn", "Slack's Socket Mode", { reason: problem });
    this.#host.noted(problem, tells);
  }

  #log(level: "info" | "warn", message: string, facts: Record<string, unknown> = {}): void {
    this.#host.log[level](message, { connection: this.#host.name, ...facts });
  }
}

/** Unencrypted only where the API itself is, which is so in tests and behind proxies. */
function isSafe(url: string, api: string): boolean {
  const protocol = URL.parse(url)?.protocol;
  return protocol === "wss:" || (protocol === "ws:" && api.startsWith("http:"));
}
