/**
 * Remembers paths of requests that no trigger has: without it, a platform with a wrong address looks
 * like one that sends nothing. In memory and bounded. Strangers can send any path, so paths that
 * resemble the address of a trigger have places of their own, which only a sender who knows that
 * address can take; and a path that came once makes room before one that came again.
 *
 * @module
 */

import type { Core } from "../base/core.ts";
import { defined } from "../base/defined.ts";
import { findLike } from "../base/similar_names.ts";
import type { Catalog } from "../resources/catalog.ts";
import { endpointOf } from "../resources/endpoints.ts";
import { DEFAULT_PROJECT, type Resource } from "../resources/resource.ts";
import type { TriggerSpec } from "../resources/trigger.ts";
import { webhookPath } from "./webhook_path.ts";

/** A request that found no trigger. */
export interface LostRequest {
  /** Cut if it is long. */
  readonly method: string;
  /** Path as it was sent, without its query; cut if it is long. */
  readonly path: string;
  /** Address of the sender. */
  readonly remote: string;
}

/** A path that no trigger has, and its last request. */
export interface UnknownPath extends LostRequest {
  /** Path of the trigger that was probably meant. */
  readonly meant: string | undefined;
  readonly count: number;
  /** Milliseconds since the epoch. */
  readonly firstAt: number;
  readonly lastAt: number;
}

/** The triggers whose addresses are known. */
interface UnknownPathsHost extends Core {
  readonly catalog: Catalog;
}

/** Most paths that are kept for each trigger that was probably meant, and for all others. */
const MOST_KEPT = { near: 4, others: 16 };
/** Most triggers for which paths are kept. */
const MAX_MEANT = 16;
/** Most requests that are counted in an interval, of all senders and of one. */
const MOST_COUNTED = { all: 64, ofOne: 8, everyMs: 1000 };
/** Most lines of the log a minute. */
const MAX_LINES = 10;
const MAX_PATH = 200;
const MAX_METHOD = 20;

/** The paths since the daemon started. */
export class UnknownPaths implements Disposable {
  readonly #host: UnknownPathsHost;
  #waiting: (LostRequest & { readonly at: number })[] = [];
  #known: UnknownPath[] = [];
  #timer: Disposable | undefined;
  #logged = { since: 0, lines: 0 };

  constructor(host: UnknownPathsHost) {
    this.#host = host;
  }

  /** Notes a request. Cheap, because a stranger can cause it at any rate. */
  note({ method, path, remote }: LostRequest): void {
    const waiting = this.#waiting;
    if (waiting.length >= MOST_COUNTED.all) return;
    let ofSender = 0;
    for (const request of waiting) if (request.remote === remote) ofSender++;
    if (ofSender >= MOST_COUNTED.ofOne) return;
    const { clock } = this.#host;
    const shown = { method: method.slice(0, MAX_METHOD), path: path.slice(0, MAX_PATH) };
    waiting.push({ ...shown, remote, at: clock.now() });
    this.#timer ??= clock.after(MOST_COUNTED.everyMs, () => this.#countWaiting());
  }

  /** The paths that no trigger has at present, the latest first. */
  list(): readonly UnknownPath[] {
    this.#countWaiting();
    const addresses = this.#addresses();
    return this.#known.filter(({ method, path }) => method !== "POST" || !addresses.includes(path))
      .toReversed() // of two in one millisecond, the later one comes first
      .toSorted((a, b) => b.lastAt - a.lastAt);
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
  }

  #addresses(): string[] {
    const triggers = this.#host.catalog.list("Trigger") as Resource<TriggerSpec>[];
    return triggers.flatMap((trigger) => {
      const { project, name } = trigger;
      const endpoint = endpointOf(trigger);
      if (endpoint === undefined) return [];
      const names = endpoint === name ? [name] : [endpoint, name];
      return names.map((name) => webhookPath({ project, name }));
    });
  }

  #countWaiting(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    const waiting = this.#waiting;
    this.#waiting = [];
    if (waiting.length === 0) return;
    const addresses = this.#addresses();
    for (const { at, ...request } of waiting) {
      const meant = addressMeant(request.path, addresses);
      if (meant === undefined && request.method !== "POST") continue;
      const index = this.#known.findIndex(({ method, path }) =>
        method === request.method && path === request.path
      );
      const seen = this.#known[index];
      const { count = 0, firstAt = at } = seen ?? {};
      const counted = { ...request, meant, count: count + 1, firstAt, lastAt: at };
      if (seen !== undefined) this.#known[index] = counted;
      else this.#add(counted);
    }
  }

  #add(path: UnknownPath): void {
    const { meant } = path;
    const group = this.#known.filter((known) => known.meant === meant);
    const isFull = group.length >= (meant === undefined ? MOST_KEPT.others : MOST_KEPT.near);
    if (!isFull && meant !== undefined && group.length === 0) {
      const all = new Set(this.#known.map(({ meant }) => meant));
      if (all.size > MAX_MEANT) return;
    }
    const [rarest] = group.toSorted((a, b) => a.count - b.count || a.lastAt - b.lastAt);
    this.#known = [...this.#known.filter((known) => !isFull || known !== rarest), path];
    this.#logNew(path);
  }

  #logNew({ method, path, remote, meant, lastAt }: UnknownPath): void {
    const { log } = this.#host;
    if (lastAt - this.#logged.since >= 60_000) this.#logged = { since: lastAt, lines: 0 };
    if (++this.#logged.lines > MAX_LINES) return;
    const hint = defined({ did_you_mean: meant && `POST ${meant}` });
    log.info("no trigger has this path", { method, path, remote, ...hint });
  }
}

/**
 * The address that a sender probably meant: it differs from the path in case, slashes at the end, its
 * beginning, or a typing error in the name. `undefined` if the path resembles none.
 */
export function addressMeant(path: string, addresses: readonly string[]): string | undefined {
  const words = (text: string) => text.toLowerCase().split("/").filter((word) => word !== "");
  const [name = "", project = DEFAULT_PROJECT] = words(path).reverse();
  const candidates = addresses.map((address) => {
    const [own = "", second = ""] = words(address).reverse();
    return { address, name: own, project: second === "webhook" ? DEFAULT_PROJECT : second };
  });
  const like = findLike(name, candidates.map(({ name }) => name));
  const alike = candidates.filter((candidate) => candidate.name === like);
  const meant = alike.find((candidate) => candidate.project === project) ?? alike[0];
  if (meant === undefined || words(path)[0] !== "source") return meant?.address;
  return `/source/slack/${meant.project}/${meant.name}`;
}
