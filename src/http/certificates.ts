/**
 * The certificates that signatures of platforms name by a URL; each is fetched once. A stranger who
 * knows the format of a platform's requests can name any number of its URLs. So each host is asked a
 * few times a minute at most, and a failure is kept for a while.
 *
 * @module
 */

import type { WallClock } from "../base/clock.ts";
import { messageOf } from "../base/errors.ts";
import type { CertificateResult } from "../signatures/scheme.ts";
import type { PostAnswer } from "./send.ts";

/** Most certificates that are kept; a platform has one or two for each region. */
const MAX_KEPT = 64;
/** Time for which a failure is kept. */
const FAILURE_MS = 30_000;
/** Most requests to a host within {@linkcode MINUTE_MS}. */
const MAX_PER_MINUTE = 10;
const MINUTE_MS = 60_000;

/** The answer for one URL. */
interface Entry {
  /** Shared by callers who ask at the same time. */
  readonly result: Promise<CertificateResult>;
  /** Milliseconds since the epoch until which a failure is kept; `undefined` for a certificate. */
  until: number | undefined;
}

/** A bounded cache of certificates. */
export class Certificates {
  readonly #get: (url: string) => Promise<PostAnswer>;
  readonly #clock: WallClock;
  readonly #entries = new Map<string, Entry>();
  /** Times of the last requests to each host, in milliseconds since the epoch. */
  readonly #asked = new Map<string, number[]>();

  /** @param get Requests a URL, with limits of time and size; rejects where no server answers. */
  constructor(get: (url: string) => Promise<PostAnswer>, clock: WallClock) {
    this.#get = get;
    this.#clock = clock;
  }

  /** The certificate at a URL, whose host the caller has checked. */
  async find(url: string): Promise<CertificateResult> {
    const now = this.#clock.now();
    const known = this.#entries.get(url);
    if (known !== undefined && now < (known.until ?? Infinity)) return await known.result;
    this.#entries.delete(url);
    const { host } = new URL(url);
    if (!this.#mayAsk(host, now)) {
      const why = `${host} was asked ${MAX_PER_MINUTE} times within a minute, the limit`;
      return { failure: "certificate_unreachable", why };
    }
    const entry: Entry = { result: this.#load(url), until: undefined };
    this.#keep(url, entry);
    const result = await entry.result;
    if ("failure" in result) entry.until = this.#clock.now() + FAILURE_MS;
    return result;
  }

  async #load(url: string): Promise<CertificateResult> {
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

  /** Keeps an entry; a full cache loses a failure first, which a stranger can cause. */
  #keep(url: string, entry: Entry): void {
    if (this.#entries.size >= MAX_KEPT) {
      const [oldest = ""] = this.#entries.keys();
      const failed = [...this.#entries].find(([, { until }]) => until !== undefined)?.[0];
      this.#entries.delete(failed ?? oldest);
    }
    this.#entries.set(url, entry);
  }
}
