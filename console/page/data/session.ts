/**
 * Who this tab is to the gateway: a key that a ticket of the link was exchanged for. It is kept for
 * this tab only, and handed to other tabs of the same address that ask; never in a cookie, which
 * every port of this machine would get.
 *
 * @module
 */

import { signal } from "@preact/signals";
import { hasLogin, logIn, needsLogin } from "./login.ts";

/** The gateway's answer to a ticket. */
export interface Session {
  readonly key: string;
  /** Whether this console only reads, even if the role allows changes. */
  readonly read_only: boolean;
  /** RFC 3339. */
  readonly expires_at: string;
  /** Name of the Person who has logged in; absent in the console of one person. */
  readonly person?: string;
}

/**
 * The session of this tab; `opening` until it is known, `none` without one, `ended` when the
 * gateway no longer accepts it, `out` when its person has logged out.
 */
export const session = signal<Session | "opening" | "none" | "ended" | "out">("opening");

const STORED = "svc.session";
/** How long this tab waits for a key from other tabs. */
const SIBLINGS_MS = 400;

/** Opens the session: with the ticket in the address, the kept key, or the key of another tab. */
export async function openSession(): Promise<void> {
  const ticket = /^#ticket=([\w-]+)$/.exec(location.hash)?.[1];
  if (ticket !== undefined) history.replaceState(null, "", location.pathname + location.search);
  const found = (ticket === undefined ? undefined : await exchange(ticket)) ??
    parse(sessionStorage.getItem(STORED)) ?? await askSiblings();
  if (found === undefined) {
    // Without a ticket, the gateway only says whether there is a login. A ticket that was no good leads
    // to none by itself, or the browser would go round and round.
    if (ticket === undefined) await exchange("");
    if (ticket === undefined && hasLogin.value) return logIn();
    session.value = "none";
    return;
  }
  if (found.person !== undefined) hasLogin.value = true; // also where only a proxy says that it is over
  sessionStorage.setItem(STORED, JSON.stringify(found));
  session.value = found;
  answerSiblings();
}

/** Notes that the gateway no longer accepts the key. */
export function endSession(): void {
  sessionStorage.removeItem(STORED);
  session.value = "ended";
}

/** Forgets the key, here and in the other tabs of this browser. */
export function logOut(): void {
  channel.postMessage({ isOut: true });
  forget();
}

function forget(): void {
  sessionStorage.removeItem(STORED);
  session.value = "out";
}

async function exchange(ticket: string): Promise<Session | undefined> {
  const response = await fetch("/session", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ticket }),
    redirect: "manual",
  }).catch(() => undefined);
  if (response === undefined || needsLogin(response)) return undefined;
  return response.ok ? parse(await response.text()) : undefined;
}

function parse(text: string | null): Session | undefined {
  if (text === null) return undefined;
  const value = JSON.parse(text) as Partial<Session>;
  const { key, read_only = true, expires_at = "", person } = value;
  if (key === undefined) return undefined;
  return { key, read_only, expires_at, ...person === undefined ? {} : { person } };
}

/**
 * Only pages of the same origin hear this channel, not other ports. Each console has a new origin,
 * and no other program can listen there while the console runs, so these pages are the console's
 * own. A program that later listens at the same address can ask too, but its key ended with the
 * console.
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
  channel.onmessage = ({ data }: MessageEvent<{ readonly asks?: true; readonly isOut?: true }>) => {
    if (typeof session.value !== "object") return;
    if (data.isOut === true) forget();
    else if (data.asks === true) channel.postMessage({ session: session.value });
  };
}
