/**
 * Who this tab is to the gateway: a key that a ticket of the link was exchanged for. It is kept for
 * this tab only, and handed to other tabs of the same address that ask; never in a cookie, which
 * every port of this machine would get.
 *
 * @module
 */

import { signal } from "@preact/signals";

/** What the gateway gave for a ticket. */
export interface Session {
  readonly key: string;
  /** Whether this console only reads, whatever the role. */
  readonly read_only: boolean;
  /** RFC 3339. */
  readonly expires_at: string;
}

/**
 * The session of this tab; `opening` until it is known, `none` without one, `ended` when the
 * gateway no longer accepts it.
 */
export const session = signal<Session | "opening" | "none" | "ended">("opening");

const STORED = "svc.session";
/** How long other tabs have to answer. */
const SIBLINGS_MS = 400;

/** Opens the session: with the ticket of the address, as kept before, or from another tab. */
export async function openSession(): Promise<void> {
  const ticket = /^#ticket=([\w-]+)$/.exec(location.hash)?.[1];
  if (ticket !== undefined) history.replaceState(null, "", location.pathname + location.search);
  const found = (ticket === undefined ? undefined : await exchange(ticket)) ??
    parse(sessionStorage.getItem(STORED)) ?? await askSiblings();
  if (found === undefined) {
    session.value = "none";
    return;
  }
  sessionStorage.setItem(STORED, JSON.stringify(found));
  session.value = found;
  answerSiblings();
}

/** Notes that the gateway no longer accepts the key. */
export function endSession(): void {
  sessionStorage.removeItem(STORED);
  session.value = "ended";
}

async function exchange(ticket: string): Promise<Session | undefined> {
  const response = await fetch("/session", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ticket }),
  }).catch(() => undefined);
  return response?.ok === true ? parse(await response.text()) : undefined;
}

function parse(text: string | null): Session | undefined {
  if (text === null) return undefined;
  const value = JSON.parse(text) as Partial<Session>;
  const { key, read_only = true, expires_at = "" } = value;
  return key === undefined ? undefined : { key, read_only, expires_at };
}

/**
 * Only pages of the same origin hear it, not other ports. Each console has a new origin at which no
 * other program can listen while it runs, so these pages are its own. A later program at the
 * address may ask too, and gets a key that ended with the console.
 */
const channel = new BroadcastChannel("svc-console");

function askSiblings(): Promise<Session | undefined> {
  const { promise, resolve } = Promise.withResolvers<Session | undefined>();
  channel.onmessage = ({ data }: MessageEvent<{ readonly session?: Session }>) => {
    if (data.session !== undefined) resolve(data.session);
  };
  channel.postMessage({ asks: true });
  setTimeout(() => resolve(undefined), SIBLINGS_MS);
  return promise;
}

function answerSiblings(): void {
  channel.onmessage = ({ data }: MessageEvent<{ readonly asks?: true }>) => {
    if (data.asks === true && typeof session.value === "object") {
      channel.postMessage({ session: session.value });
    }
  };
}
