/**
 * One WebSocket to Slack, from its opening to its end: its frames, and when another one has to take
 * its place.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { toJson } from "../../base/json.ts";
import { type Envelope, type Frame, readFrame } from "./frames.ts";
import { type ClockReading, isStale, READ_EVERY_MS } from "./silence.ts";
import type { OpenSocket, Socket } from "./websocket.ts";

/** Why another socket is needed. */
export type ReplaceReason =
  /** Slack will close this one soon. */
  | "refresh"
  /** Slack no longer answers on it. */
  | "silent"
  /** The socket has ended. */
  | "ended"
  /** Socket Mode was switched off on the app's page. */
  | "switched off"
  /** The app has as many sockets as Slack allows. */
  | "too many"
  /** It brought more than {@linkcode MAX_UNREADABLE} frames that mean nothing. */
  | "unreadable";

/** Most unreadable frames between two readings of the clock; Slack sends none. */
const MAX_UNREADABLE = 100;

/** The opener of a socket, and the receiver of its frames. */
export interface SlackSocketHost {
  readonly openSocket: OpenSocket;
  readonly clock: Clock;
  /** Called for each envelope; the caller acknowledges it. */
  readonly received: (envelope: Envelope, socket: SlackSocket) => void;
  /** Called for each frame that cannot be read, with the reason. */
  readonly unknown: (why: string) => void;
}

/** One WebSocket to Slack. */
export class SlackSocket {
  /** Milliseconds since the epoch. */
  readonly openedAt: number;
  /** Sockets of the app when it was opened, as Slack counted them; 0 until it has said hello. */
  connections = 0;
  /** Resolves to `undefined` after Slack's hello, or to the reason why none will come. */
  readonly greeted: Promise<ReplaceReason | undefined>;
  /** Resolves when another socket is needed. */
  readonly replaceReason: Promise<ReplaceReason>;
  /** Resolves when the socket has ended. */
  readonly ended: Promise<void>;
  /** Why it has ended, as the end of a sentence; empty before. */
  why = "";
  readonly #host: SlackSocketHost;
  readonly #greet: (why: ReplaceReason | undefined) => void;
  readonly #ask: (why: ReplaceReason) => void;
  readonly #end: () => void;
  #socket: Socket | undefined;
  #isEnded = false;
  #heardMs: number;
  #heardAt: number;
  #lastReading: ClockReading;
  readonly #readings: Disposable;
  #unreadable = 0;
  #retirement: Disposable | undefined;

  /** Opens it; `url` can be used once. */
  constructor(url: string, host: SlackSocketHost) {
    this.#host = host;
    const { clock } = host;
    this.openedAt = clock.now();
    this.#lastReading = readClock(clock);
    this.#heardMs = this.#lastReading.passedMs;
    this.#heardAt = this.openedAt;
    const greeted = Promise.withResolvers<ReplaceReason | undefined>();
    const replaceReason = Promise.withResolvers<ReplaceReason>();
    const ended = Promise.withResolvers<void>();
    [this.greeted, this.#greet] = [greeted.promise, greeted.resolve];
    [this.replaceReason, this.#ask] = [replaceReason.promise, replaceReason.resolve];
    [this.ended, this.#end] = [ended.promise, ended.resolve];
    this.#readings = clock.every(READ_EVERY_MS, () => this.#checkSilence());
    host.openSocket(url, {
      received: (text) => this.#received(text),
      alive: () => this.#heard(),
      ended: (why) => this.#over(why),
    }).then(
      (socket) => {
        this.#socket = socket;
        if (this.#isEnded) socket.terminate();
      },
      (error) => this.#over(String(error)),
    );
  }

  /** When Slack last sent anything, in milliseconds since the epoch. */
  get heardAt(): number {
    return this.#heardAt;
  }

  /** Tells Slack that an envelope is stored; `payload` answers an envelope that asked for options. */
  acknowledge({ id }: Envelope, payload: unknown): void {
    const ack = { envelope_id: id, ...defined({ payload }) };
    if (!this.#isEnded) this.#socket?.send(toJson(ack));
  }

  /** Ends it in order, or at once if Slack does not respond within a second. */
  async close(): Promise<void> {
    this.#readings[Symbol.dispose]();
    this.#socket?.close();
    using _late = this.#host.clock.after(1000, () => this.drop());
    if (this.#socket === undefined) this.drop();
    await this.ended;
  }

  /** Ends it `ms` after the first call, because another socket has taken its place. */
  retire(ms: number): void {
    if (!this.#isEnded) this.#retirement ??= this.#host.clock.after(ms, () => this.drop());
  }

  /** Ends it at once. */
  drop(): void {
    this.#socket?.terminate();
    this.#over("dropped");
  }

  #received(text: string | undefined): void {
    this.#heard();
    if (this.#isEnded) return;
    const frame: Frame = text === undefined
      ? { is: "unknown", why: "it is not text" }
      : readFrame(text);
    switch (frame.is) {
      case "hello":
        this.connections = frame.connections;
        return this.#greet(undefined);
      case "disconnect":
        return this.#need(REASONS[frame.reason] ?? "refresh");
      case "envelope":
        return this.#host.received(frame, this);
      case "unknown":
        return this.#unknown(frame.why);
    }
  }

  #unknown(why: string): void {
    this.#host.unknown(why);
    if (++this.#unreadable <= MAX_UNREADABLE) return;
    this.#need("unreadable");
    this.drop();
  }

  #heard(): void {
    const { clock } = this.#host;
    this.#heardMs = clock.monotonicMs();
    this.#heardAt = clock.now();
  }

  #checkSilence(): void {
    const now = readClock(this.#host.clock);
    if (isStale(now, { last: this.#lastReading, heardMs: this.#heardMs })) this.#need("silent");
    this.#lastReading = now;
    this.#unreadable = 0;
  }

  #need(why: ReplaceReason): void {
    this.#greet(why);
    this.#ask(why);
  }

  #over(why: string): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.why = why;
    this.#readings[Symbol.dispose]();
    this.#retirement?.[Symbol.dispose]();
    this.#need("ended");
    this.#end();
  }
}

/** Slack's reasons to disconnect; with any other one it closes the socket soon. */
const REASONS: Readonly<Record<string, ReplaceReason>> = {
  link_disabled: "switched off",
  too_many_websockets: "too many",
};

function readClock(clock: Clock): ClockReading {
  return { wallMs: clock.now(), passedMs: clock.monotonicMs() };
}
