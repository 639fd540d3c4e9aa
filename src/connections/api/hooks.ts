/**
 * The webhooks of a repository or its owner at a forge, and the log of what they sent. What svc does
 * with them is written once over these interfaces; an implementation holds the paths and oddities of one
 * API.
 *
 * @module
 */

import type { RestFailure } from "./rest.ts";

/** A webhook as the forge shows it, without its secret. */
export interface Hook {
  readonly id: number;
  readonly url: string;
  readonly events: readonly string[];
  /** Settings that are wrong whatever is wanted, each as a part of a sentence. */
  readonly faults: readonly string[];
  /**
   * Whether the forge signs what it sends; absent where it always does. Without, it sends the secret
   * itself.
   */
  readonly isSigned?: boolean;
  /** Why the forge sends nothing, after deliveries that failed; absent if it sends. */
  readonly off?: HookOff;
}

/** A webhook that the forge has switched off. */
export interface HookOff {
  /** Milliseconds since the epoch by the forge's clock; absent for one that stays off. */
  readonly until?: number;
}

/** The settings that a webhook must have. */
export interface HookSettings {
  readonly url: string;
  readonly secret: string;
  /** Events that it must send; other events stay. */
  readonly events: readonly string[];
}

/** The result of {@linkcode ForgeHooks.ensure}. */
export interface EnsuredHook {
  readonly hook: Hook;
  /** `configured` if the webhook existed with other settings. */
  readonly action: "created" | "configured" | "unchanged";
  /** The settings that were corrected, one part of a sentence each. */
  readonly changes: readonly string[];
  /** The secret with which its requests are verified now. */
  readonly secret: string;
}

/** Webhooks of one owner. Methods throw an `AppError`, `refused` or `overloaded`, unless they say so. */
export interface ForgeHooks {
  /** Name of the forge for people. */
  readonly title: string;
  list(): Promise<readonly Hook[]>;
  /** The webhook with an id; `undefined` if it no longer exists. */
  find(id: number): Promise<Hook | undefined | RestFailure>;
  /**
   * Creates a webhook, or corrects it.
   *
   * @param known The webhooks that exist.
   * @param id Id that the webhook got when it was made; its address may have changed since.
   */
  ensure(given: {
    readonly wanted: HookSettings;
    readonly known: readonly Hook[];
    readonly id?: number | undefined;
  }): Promise<EnsuredHook>;
  /** Sets all settings of a webhook, its secret too. */
  set(hook: Hook, wanted: HookSettings): Promise<EnsuredHook>;
  /** `gone` if it did not exist any more. */
  delete(id: number): Promise<"deleted" | "gone">;
  /** Has the forge send a request now that means nothing. */
  ping(id: number): Promise<void>;
  /** Whether a webhook is pinged when it is made. */
  readonly pingsNew: boolean;
  /** URL of the page of a webhook for people; empty if it is not known. */
  page(id: number): string;
  log(id: number): HookLog;
}

/** A try to deliver an event. */
export interface LoggedTry {
  /** The digits of a number that may be too large for a double. */
  readonly id: string;
  /** Id of the event: all its tries have the same. */
  readonly guid: string;
  /** Milliseconds since the epoch, by the forge's clock. */
  readonly at: number;
  /** Status of the answer; 0 if there was none. */
  readonly statusCode: number;
  /** The result in words, such as `failed to connect to host`. */
  readonly status: string;
  readonly event: string;
  /** `action` of the event; empty if it has none. */
  readonly action: string;
  /** Absent where the log does not tell it: every try but the first of an event is one. */
  readonly redelivery?: boolean;
  /** Whether it is a request of {@linkcode ForgeHooks.ping}. */
  readonly isPing: boolean;
}

/** A page of the log, newest first. */
export interface LogPage {
  readonly tries: readonly LoggedTry[];
  /** Path of the page after it; absent on the last one. */
  readonly next?: string;
  /** The forge's time of the answer, in milliseconds since the epoch. */
  readonly now?: number;
  /** End of the token in milliseconds since the epoch, if the answer says it. */
  readonly tokenEndsAt?: number;
  /** For the next call of the same page. */
  readonly etag?: string;
}

/** The request of a try, and its answer. */
export interface LoggedRequest {
  /** Headers of the request, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as the log writes it: mostly, but not always, the bytes that were sent. */
  readonly body: string;
  /** Body of the answer; empty if there was none. */
  readonly answer: string;
  /** Headers of the answer, names in lower case. */
  readonly answerHeaders: Readonly<Record<string, string>>;
}

/** The log of the deliveries of a webhook. */
export interface HookLog {
  /** Name of the forge for people. */
  readonly title: string;
  readonly hook: number;
  /** Header that names an event, in lower case. */
  readonly idHeader: string;
  /** How long the forge keeps it, in milliseconds. */
  readonly keptMs: number;
  /** How often the forge is asked at most to send one event again. */
  readonly mostResends: number;
  /** Whether every ping can be told from an event. */
  readonly pings: boolean;
  /** Reads a page, the first if no path is given; `unchanged` if it is the same as with this `etag`. */
  readPage(path?: string, etag?: string): Promise<LogPage | "unchanged" | RestFailure>;
  /** The request of a try; `undefined` if it is no longer in the log. */
  read(id: string): Promise<LoggedRequest | undefined | RestFailure>;
  /** Has the forge send an event again; `gone` if it cannot any more. */
  resend(one: LoggedTry): Promise<"sent" | "gone" | RestFailure>;
  /** Whether a try was signed with a secret; `undefined` if the log does not tell. */
  isSignedWith(request: LoggedRequest, secret: string): boolean | undefined;
}

/** Whether two addresses are the same, however they are written. */
export function isSameUrl(one: string, other: string): boolean {
  return (URL.parse(one)?.href ?? one) === (URL.parse(other)?.href ?? other);
}
