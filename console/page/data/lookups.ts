/**
 * Looks up the values that rows show beside their records, a few rows at a time, after a row has
 * stayed on the screen for a moment. Answers are kept, because scrolling removes rows and brings
 * them back.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

/** How long a row is on the screen before its lookup starts. */
const STAYS_MS = 150;
/** Most lookups that run at once: a browser has six connections to an address. */
const AT_ONCE = 2;
/** Most answers that are kept. */
const MOST_KEPT = 5000;

/** A function that asks for a value, and the values it has answered so far. */
export interface Lookup<Value> {
  readonly kept: Map<string, Value>;
  /** Resolves to `undefined` if the answer must not be kept. */
  readonly ask: (of: string, signal: AbortSignal) => Promise<Value | undefined>;
}

/** A lookup without answers, which asks by this function. */
export function lookup<Value>(ask: Lookup<Value>["ask"]): Lookup<Value> {
  return { kept: new Map(), ask };
}

/** The answer for `of`; `undefined` until it is there, and if `of` is `undefined`. */
export function useLookup<Value>(of: string | undefined, by: Lookup<Value>): Value | undefined {
  const known = of === undefined ? undefined : by.kept.get(of);
  const answer = useSignal<{ readonly of: string; readonly value: Value } | undefined>(undefined);
  useEffect(() => {
    if (of === undefined || known !== undefined) return;
    const own = new AbortController();
    const timer = setTimeout(() =>
      enqueue(async () => {
        if (own.signal.aborted) return;
        const value = by.kept.get(of) ?? await by.ask(of, own.signal).catch(() => undefined);
        if (value === undefined) return;
        if (by.kept.size >= MOST_KEPT) by.kept.clear();
        by.kept.set(of, value);
        if (!own.signal.aborted) answer.value = { of, value };
      }), STAYS_MS);
    return () => {
      clearTimeout(timer);
      own.abort();
    };
  }, [of]);
  return known ?? (answer.value?.of === of ? answer.value?.value : undefined);
}

const waiting: (() => Promise<void>)[] = [];
let running = 0;

function enqueue(work: () => Promise<void>): void {
  waiting.push(work);
  void next();
}

async function next(): Promise<void> {
  if (running >= AT_ONCE) return;
  const work = waiting.shift();
  if (work === undefined) return;
  running++;
  await work().finally(() => running--);
  void next();
}
