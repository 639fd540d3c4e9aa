/**
 * The certificates that signatures of platforms name by a URL: each is fetched once. Whoever knows
 * what a platform's requests look like can name URLs that nobody has asked for, so a host is asked
 * a few times a minute at most, and a failure is remembered for a while.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import { messageOf } from "../base/errors.ts";
import type { FindCertificate } from "../signatures/scheme.ts";
import type { PostAnswer } from "./send.ts";

/** Certificates that are kept; a platform has one or two for a region. */
const MAX_KEPT = 64;
/** Time that a failure is kept. */
const FAILURE_MS = 30_000;
/** Requests to a host within {@linkcode MINUTE_MS}. */
const MAX_PER_MINUTE = 10;
const MINUTE_MS = 60_000;

type Found = Awaited<ReturnType<FindCertificate>>;

/** One URL that was asked for. */
interface Entry {
  /** Shared by those who ask at the same time. */
  readonly found: Promise<Found>;
  /** Milliseconds since the epoch until which it counts; `undefined` while nothing makes it old. */
  until: number | undefined;
}

/** A bounded cache of certificates. */
export class Certificates {
  readonly #get: (url: string) => Promise<PostAnswer>;
  readonly #clock: Pick<Clock, "now">;
  readonly #entries = new Map<string, Entry>();
  /** Times of the last requests, by host. */
  readonly #asked = new Map<string, number[]>();

  /** @param get Gets what is at a URL, within a time and a size; rejects where nothing answers. */
  constructor(get: (url: string) => Promise<PostAnswer>, clock: Pick<Clock, "now">) {
    this.#get = get;
    this.#clock = clock;
  }

  /** The certificate at a URL, whose host the caller has checked. */
  async find(url: string): Promise<Found> {
    const now = this.#clock.now();
    const known = this.#entries.get(url);
    if (known !== undefined && now < (known.until ?? Infinity)) return await known.found;
    this.#entries.delete(url);
    const { host } = new URL(url);
    if (!this.#mayAsk(host, now)) {
      const why = `${host} was asked ${MAX_PER_MINUTE} times within a minute, the limit`;
      return { failure: "certificate_unreachable", why };
    }
    const entry: Entry = { found: this.#load(url), until: undefined };
    this.#keep(url, entry);
    const found = await entry.found;
    if ("failure" in found) entry.until = this.#clock.now() + FAILURE_MS;
    return found;
  }

  async #load(url: string): Promise<Found> {
    try {
      const { status, answer } = await this.#get(url);
      if (status === 403 || status === 404) return { failure: "certificate_missing" };
      if (status !== 200) {
        return { failure: "certificate_unreachable", why: `it answered ${status}` };
      }
      const isPem = answer.startsWith("-----BEGIN CERTIFICATE-----");
      return isPem ? { pem: answer } : { failure: "certificate_malformed" };
    } catch (error) {
      return { failure: "certificate_unreachable", why: messageOf(error) };
    }
  }

  #mayAsk(host: string, now: number): boolean {
    const times = (this.#asked.get(host) ?? []).filter((time) => time > now - MINUTE_MS);
    if (times.length >= MAX_PER_MINUTE) return false;
    this.#asked.set(host, [...times, now]);
    return true;
  }

  /** Failures make room first: strangers can cause them, a certificate only the platform. */
  #keep(url: string, entry: Entry): void {
    if (this.#entries.size >= MAX_KEPT) {
      const [oldest = ""] = this.#entries.keys();
      const failed = [...this.#entries].find(([, { until }]) => until !== undefined)?.[0];
      this.#entries.delete(failed ?? oldest);
    }
    this.#entries.set(url, entry);
  }
}
