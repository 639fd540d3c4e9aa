/**
 * One WebSocket to Slack, from its opening to its end: what it says of itself, and when another one
 * has to take its place.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { toJson } from "../../base/json.ts";
import { type Envelope, type Frame, readFrame } from "./frames.ts";
import { isStale, type Look, LOOK_EVERY_MS } from "./silence.ts";
import type { OpenSocket, Socket } from "./websocket.ts";

/** Why another line is needed. */
export type Successor =
  /** Slack will close this one soon. */
  | "refresh"
  /** Nobody is there any more. */
  | "silent"
  /** It is over. */
  | "ended"
  /** Somebody has switched Socket Mode off. */
  | "switched off"
  /** The app has as many as it may have. */
  | "too many"
  /** It says next to nothing that can be read. */
  | "unreadable";

/** Most frames without a meaning between two looks; Slack sends none. */
const MAX_UNREADABLE = 100;

/** What a line needs. */
export interface LineHost {
  readonly openSocket: OpenSocket;
  readonly clock: Clock;
  /** Gets what is to be acknowledged. */
  readonly received: (envelope: Envelope, line: Line) => void;
  /** Gets frames that mean nothing, with the reason. */
  readonly unknown: (why: string) => void;
}

/** One WebSocket. */
export class Line {
  /** Milliseconds since the epoch. */
  readonly openedAt: number;
  /** Sockets of the app when it was opened, as Slack counted them; 0 until it has said hello. */
  connections = 0;
  /** Resolves when Slack has said hello, or with why there will be none. */
  readonly greeted: Promise<Successor | undefined>;
  /** Resolves when another line is needed. */
  readonly successor: Promise<Successor>;
  /** Resolves when it is over. */
  readonly ended: Promise<void>;
  /** Why it is over, as the end of a sentence; empty before. */
  why = "";
  readonly #host: LineHost;
  readonly #greet: (why: Successor | undefined) => void;
  readonly #ask: (why: Successor) => void;
  readonly #end: () => void;
  #socket: Socket | undefined;
  #isOver = false;
  #heardMs: number;
  #heardAt: number;
  #before: Look;
  readonly #looks: Disposable;
  #unreadable = 0;
  #retirement: Disposable | undefined;

  /** Opens it; `url` is good for one time. */
  constructor(url: string, host: LineHost) {
    this.#host = host;
    const { clock } = host;
    this.openedAt = clock.now();
    this.#before = lookAt(clock);
    this.#heardMs = this.#before.passedMs;
    this.#heardAt = this.openedAt;
    const greeted = Promise.withResolvers<Successor | undefined>();
    const successor = Promise.withResolvers<Successor>();
    const ended = Promise.withResolvers<void>();
    [this.greeted, this.#greet] = [greeted.promise, greeted.resolve];
    [this.successor, this.#ask] = [successor.promise, successor.resolve];
    [this.ended, this.#end] = [ended.promise, ended.resolve];
    this.#looks = clock.every(LOOK_EVERY_MS, () => this.#look());
    host.openSocket(url, {
      received: (text) => this.#received(text),
      alive: () => this.#heard(),
      ended: (why) => this.#over(why),
    }).then(
      (socket) => {
        this.#socket = socket;
        if (this.#isOver) socket.terminate();
      },
      (error) => this.#over(String(error)),
    );
  }

  /** When something came last, in milliseconds since the epoch. */
  get heardAt(): number {
    return this.#heardAt;
  }

  /** Tells Slack that an envelope has been taken, with what a menu shows where it asked. */
  acknowledge({ id }: Envelope, payload: unknown): void {
    const ack = { envelope_id: id, ...defined({ payload }) };
    if (!this.#isOver) this.#socket?.send(toJson(ack));
  }

  /** Ends it in order, or at once where the other side takes no notice within a second. */
  async close(): Promise<void> {
    this.#looks[Symbol.dispose]();
    this.#socket?.close();
    using _late = this.#host.clock.after(1000, () => this.drop());
    if (this.#socket === undefined) this.drop();
    await this.ended;
  }

  /** Ends it after a while, counted from the first time: another one has taken its place. */
  retire(ms: number): void {
    if (!this.#isOver) this.#retirement ??= this.#host.clock.after(ms, () => this.drop());
  }

  /** Ends it at once. */
  drop(): void {
    this.#socket?.terminate();
    this.#over("dropped");
  }

  #received(text: string | undefined): void {
    this.#heard();
    if (this.#isOver) return;
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

  #look(): void {
    const now = lookAt(this.#host.clock);
    if (isStale(now, { before: this.#before, heardMs: this.#heardMs })) this.#need("silent");
    this.#before = now;
    this.#unreadable = 0;
  }

  #need(why: Successor): void {
    this.#greet(why);
    this.#ask(why);
  }

  #over(why: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.why = why;
    this.#looks[Symbol.dispose]();
    this.#retirement?.[Symbol.dispose]();
    this.#need("ended");
    this.#end();
  }
}

/** Slack's reasons to disconnect; any other one means that it will be over soon. */
const REASONS: Readonly<Record<string, Successor>> = {
  link_disabled: "switched off",
  too_many_websockets: "too many",
};

function lookAt(clock: Clock): Look {
  return { wallMs: clock.now(), passedMs: clock.monotonicMs() };
}
