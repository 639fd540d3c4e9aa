/**
 * Remembers the paths that requests came to and no trigger has: a platform with a wrong address is
 * otherwise as silent as one that sends nothing. In memory and bounded. Strangers decide what comes
 * here, so what resembles a trigger's address has a place of its own, which nobody can take who
 * does not know its name; and what came once gives way before what comes again.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { findLike } from "../base/similar_names.ts";
import type { Catalog } from "../resources/catalog.ts";
import { endpointOf } from "../resources/endpoints.ts";
import { DEFAULT_PROJECT, type Resource } from "../resources/resource.ts";
import type { TriggerSpec } from "../resources/trigger.ts";
import { webhookPath } from "./webhook_path.ts";

/** A request that found no trigger. */
export interface LostRequest {
  /** Its beginning where it is long. */
  readonly method: string;
  /** Path as it was sent, without its query; its beginning where it is long. */
  readonly path: string;
  /** Address of its sender. */
  readonly remote: string;
}

/** A path that no trigger has, and who came to it. */
export interface UnknownPath extends LostRequest {
  /** Path of the trigger that was probably meant. */
  readonly meant: string | undefined;
  readonly count: number;
  /** Milliseconds since the epoch. */
  readonly firstAt: number;
  readonly lastAt: number;
}

/** What remembering needs. */
export interface UnknownPathsHost {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly log: Log;
}

/** Most paths kept for each trigger that was probably meant, and for all that resemble none. */
const KEPT = { near: 4, others: 16 };
/** Most triggers that paths are kept for. */
const MAX_MEANT = 16;
/** Most requests looked at in each interval, and of them from one sender; the others are not counted. */
const LOOKED_AT = { all: 64, ofOne: 8, everyMs: 1000 };
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

  /** Notes a request; cheap, because it happens while a stranger waits for the answer. */
  note({ method, path, remote }: LostRequest): void {
    const waiting = this.#waiting;
    if (waiting.length >= LOOKED_AT.all) return;
    let ofSender = 0;
    for (const one of waiting) if (one.remote === remote) ofSender++;
    if (ofSender >= LOOKED_AT.ofOne) return;
    const { clock } = this.#host;
    const shown = { method: method.slice(0, MAX_METHOD), path: path.slice(0, MAX_PATH) };
    waiting.push({ ...shown, remote, at: clock.now() });
    this.#timer ??= clock.after(LOOKED_AT.everyMs, () => this.#sort());
  }

  /** What no trigger has now, the latest first. */
  list(): readonly UnknownPath[] {
    this.#sort();
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
      return names.map((one) => webhookPath({ project, name: one }));
    });
  }

  #sort(): void {
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
      const now = { ...request, meant, count: count + 1, firstAt, lastAt: at };
      if (seen !== undefined) this.#known[index] = now;
      else this.#add(now);
    }
  }

  #add(path: UnknownPath): void {
    const { meant } = path;
    const group = this.#known.filter((one) => one.meant === meant);
    const isFull = group.length >= (meant === undefined ? KEPT.others : KEPT.near);
    if (!isFull && meant !== undefined && group.length === 0) {
      const all = new Set(this.#known.map((one) => one.meant));
      if (all.size > MAX_MEANT) return;
    }
    const [given] = group.toSorted((a, b) => a.count - b.count || a.lastAt - b.lastAt);
    this.#known = [...this.#known.filter((one) => !isFull || one !== given), path];
    this.#tell(path);
  }

  #tell({ method, path, remote, meant, lastAt }: UnknownPath): void {
    const { log } = this.#host;
    if (lastAt - this.#logged.since >= 60_000) this.#logged = { since: lastAt, lines: 0 };
    if (++this.#logged.lines > MAX_LINES) return;
    const hint = meant === undefined ? {} : { did_you_mean: `POST ${meant}` };
    log.info("no trigger has this path", { method, path, remote, ...hint });
  }
}

/**
 * The address that a path was probably meant to be: the same but for case, slashes at its end,
 * another beginning, or a slip in the name; `undefined` when it resembles none.
 */
export function addressMeant(path: string, addresses: readonly string[]): string | undefined {
  const words = (text: string) => text.toLowerCase().split("/").filter((word) => word !== "");
  const [name = "", project = DEFAULT_PROJECT] = words(path).reverse();
  const candidates = addresses.map((address) => {
    const [own = "", second = ""] = words(address).reverse();
    return { address, name: own, project: second === "webhook" ? DEFAULT_PROJECT : second };
  });
  const like = findLike(name, candidates.map((one) => one.name));
  const found = candidates.filter((one) => one.name === like);
  const meant = found.find((one) => one.project === project) ?? found[0];
  if (meant === undefined || words(path)[0] !== "source") return meant?.address;
  return `/source/slack/${meant.project}/${meant.name}`;
}
