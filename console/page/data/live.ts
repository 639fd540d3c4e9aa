/**
 * Keeps the screen up to date over one stream for the whole tab: a browser has six connections to
 * an address, and tabs share them. A hidden tab closes its stream; if the gateway has no stream
 * left, the tab polls.
 *
 * @module
 */

import { signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { defined } from "../../../src/base/defined.ts";
import { reach, Refusal, stream } from "./api.ts";
import { session } from "./session.ts";
import { askOnce, type Subject, type Update } from "./subjects.ts";

/** A subject that the screen watches, and the listener for its updates. */
interface Subscription {
  readonly subject: Subject;
  readonly hear: (update: Update) => void;
  /** The cursor of the last update; the next stream continues from there. */
  cursor?: string;
}

const subscriptions = new Map<string, Subscription>();
let nextKey = 0;

/** How the screen is kept up to date: over the stream, by polling (`asking`), or not. */
export const live = signal<"stream" | "asking" | "paused" | "broken">("paused");

/** Watches a subject until the returned function is called. */
export function watch(subject: Subject, hear: (update: Update) => void): () => void {
  const key = String(nextKey++);
  subscriptions.set(key, { subject, hear });
  restart();
  return () => {
    subscriptions.delete(key);
    restart();
  };
}

/** Watches a subject while the component is shown; another `subject` (by value) replaces it. */
export function useWatch(subject: Subject | undefined, hear: (update: Update) => void): void {
  useEffect(
    () => subject === undefined ? undefined : watch(subject, hear),
    [JSON.stringify(subject)],
  );
}

/** The last value of a subject with a single value: a task, the status, the figures. */
export function useLatest<Value>(
  subject: Subject | undefined,
  pick: (update: Update) => Value | undefined,
): { readonly value: Value | undefined; readonly error: Refusal | undefined } {
  const latest = useSignal<Value | undefined>(undefined);
  const error = useSignal<Refusal | undefined>(undefined);
  useWatch(subject, (update) => {
    if ("error" in update) {
      error.value = new Refusal(update.error.message, { code: update.error.code });
      return;
    }
    const value = pick(update);
    if (value !== undefined) [latest.value, error.value] = [value, undefined];
  });
  return { value: latest.value, error: error.value };
}

/** How long a hidden tab keeps its stream. */
const HIDDEN_MS = 5000;
/** Pauses between attempts to connect again, in milliseconds; the last pause repeats. */
const RETRY_MS = [300, 700, 1500, 2500];
const ASK_MS = 3000;

let running: AbortController | undefined;
let scheduled: number | undefined;
let failures = 0;

/** Restarts the stream with the current subjects; several calls in a row restart it once. */
function restart(afterMs = 20): void {
  clearTimeout(scheduled);
  scheduled = setTimeout(() => void run(), afterMs);
}

async function run(): Promise<void> {
  running?.abort();
  const own = running = new AbortController();
  if (document.hidden || subscriptions.size === 0 || typeof session.value !== "object") {
    live.value = "paused";
    return;
  }
  const subjects = [...subscriptions].map(([key, { subject, cursor }]) => ({
    key,
    ...subject,
    ...defined({ after: cursor }),
  }));
  try {
    for await (const update of stream("watch", { subjects }, own.signal)) {
      if (own.signal.aborted) return;
      [live.value, failures] = ["stream", 0];
      // A line without a key is a sign of life of the stream.
      if ("key" in update) deliver(update.key, update as Update);
    }
  } catch (error) {
    if (own.signal.aborted) return;
    if (error instanceof Refusal && error.status === 429) return await ask(own.signal);
    if (typeof session.value !== "object") return;
  }
  if (own.signal.aborted) return;
  live.value = "broken";
  // A stream also ends where the rights of its person have changed: the next one tells.
  if (failures > 0 && reach.value === "connected") reach.value = "daemon";
  restart(RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)]);
}

/** Polls every subject five times, and then tries to open a stream again. */
async function ask(signal: AbortSignal): Promise<void> {
  for (let times = 0; times < 5 && !signal.aborted; times++) {
    live.value = "asking";
    for (const [key, { subject, cursor }] of subscriptions) {
      const update = await askOnce(subject, cursor).catch(() => undefined);
      if (signal.aborted) return;
      if (update !== undefined) deliver(key, update);
    }
    await new Promise((done) => setTimeout(done, ASK_MS));
  }
  if (!signal.aborted) restart(0);
}

function deliver(key: string, update: Update): void {
  const one = subscriptions.get(key);
  if (one === undefined) return;
  if ("cursor" in update && typeof update.cursor === "string") one.cursor = update.cursor;
  one.hear(update);
}

let hiding: number | undefined;
document.addEventListener("visibilitychange", () => {
  clearTimeout(hiding);
  if (!document.hidden) return restart(0);
  hiding = setTimeout(() => {
    running?.abort();
    live.value = "paused";
  }, HIDDEN_MS);
});
session.subscribe((value) => {
  if (typeof value === "object") restart(0);
});
