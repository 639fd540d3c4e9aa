/**
 * What a step has reached, and what was refused: counted by host, with a bounded number of hosts.
 *
 * @module
 */

import { defined } from "../base/defined.ts";
import type { Clock } from "../base/clock.ts";
import type { Limit } from "./limit.ts";
import { addTokens, type Tokens } from "./usage.ts";

/** How a host is reached: through a tunnel, by plain HTTP, or with a key that the daemon adds. */
export type Way = "tunnel" | "http" | "inject";

/** What a step did at one host. */
export interface Reached {
  /** `HOST:PORT`; of an injection its scheme and host; {@linkcode OTHERS} for those beyond the limit. */
  readonly host: string;
  readonly way: Way;
  /** Tunnels or requests that were let through. */
  readonly requests: number;
  /** Those that were not allowed. */
  readonly refused: number;
  /** Those that the host did not answer, or not to the end. */
  readonly failed: number;
  /** Bytes to the host and from it, without TLS of svc. */
  readonly sentBytes: number;
  readonly receivedBytes: number;
  /** Number of answers by status; none for tunnels. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Milliseconds since the epoch. */
  readonly firstAt: number;
  readonly lastAt: number;
  /** Tokens that the answers of an injection counted. */
  readonly tokens?: Tokens;
  /** The last limit that it answered with. */
  readonly limit?: Limit;
}

/** Stands for all hosts of a way that are not counted by themselves. */
export const OTHERS = "others";

/** Most hosts that are counted by themselves: rules with `*` and refused names know no end. */
const MAX_HOSTS = 100;
/** Most hosts of which a line in the task's log tells that they were refused. */
const MAX_TOLD = 50;

type Count = { -readonly [Name in keyof Reached]: Reached[Name] };

/** The counts of one host. */
export class HostCount {
  readonly #count: Count;
  readonly #clock: Clock;

  constructor(count: Count, clock: Clock) {
    this.#count = count;
    this.#clock = clock;
  }

  get reached(): Reached {
    return this.#count;
  }

  request(): void {
    this.#count.requests++;
    this.#count.lastAt = this.#clock.now();
  }

  refused(): void {
    this.#count.refused++;
    this.#count.lastAt = this.#clock.now();
  }

  failed(): void {
    this.#count.failed++;
  }

  sent(bytes: number): void {
    this.#count.sentBytes += bytes;
  }

  received(bytes: number): void {
    this.#count.receivedBytes += bytes;
  }

  answered(status: number): void {
    const statuses = this.#count.statuses as Record<string, number>;
    statuses[status] = (statuses[status] ?? 0) + 1;
  }

  ended(tokens?: Tokens): void {
    this.#count.lastAt = this.#clock.now();
    if (tokens !== undefined) this.#count.tokens = addTokens(this.#count.tokens, tokens);
  }

  limited(limit: Limit): void {
    this.#count.limit = limit;
  }
}

/** Counts what one step reaches, and tells the first refusal of each host. */
export class Traffic {
  readonly #clock: Clock;
  readonly #tell: (line: string) => void;
  readonly #redact: (text: string) => string;
  readonly #hosts = new Map<string, HostCount>();
  readonly #told = new Set<string>();

  /** `tell` gets a line for the log of the task; names of hosts pass `redact`. */
  constructor(clock: Clock, tell: (line: string) => void, redact: (text: string) => string) {
    this.#clock = clock;
    this.#tell = tell;
    this.#redact = redact;
  }

  /** The counts of a host. */
  at(way: Way, named: string): HostCount {
    const host = this.#redact(named);
    const known = this.#hosts.get(`${way} ${host}`);
    if (known !== undefined) return known;
    if (host !== OTHERS && this.#hosts.size >= MAX_HOSTS) return this.at(way, OTHERS);
    const now = this.#clock.now();
    const made = new HostCount({
      host,
      way,
      requests: 0,
      refused: 0,
      failed: 0,
      sentBytes: 0,
      receivedBytes: 0,
      statuses: {},
      firstAt: now,
      lastAt: now,
    }, this.#clock);
    this.#hosts.set(`${way} ${host}`, made);
    return made;
  }

  /** Tells a line, once for each `about`. */
  tellOnce(about: string, line: string): void {
    if (this.#told.has(about) || this.#told.size > MAX_TOLD) return;
    this.#told.add(about);
    this.#tell(
      this.#told.size > MAX_TOLD ? "network: more was refused, which is not listed here" : line,
    );
  }

  /** Everything so far, in the order in which it was reached first. */
  report(): Reached[] {
    return [...this.#hosts.values()].map(({ reached }) => ({
      ...reached,
      statuses: { ...reached.statuses },
      ...defined({ tokens: reached.tokens }),
    }));
  }
}
