/**
 * Looks up what rows on the screen show beside their records: a few rows at a time, once a row has
 * stayed on the screen. Answers are kept, because rows come and go while a person scrolls.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

/** How long a row has to stay on the screen before its lookup. */
const STAYS_MS = 150;
/** Most lookups at once: a browser has six connections to an address. */
const AT_ONCE = 2;
/** Most answers that are kept. */
const MOST_KEPT = 5000;

/** One kind of question, with its answers so far. */
export interface Lookup<Value> {
  readonly kept: Map<string, Value>;
  /** `undefined` for what may be another answer the next time. */
  readonly ask: (of: string, signal: AbortSignal) => Promise<Value | undefined>;
}

/** A kind of question. */
export function lookup<Value>(ask: Lookup<Value>["ask"]): Lookup<Value> {
  return { kept: new Map(), ask };
}

/** The answer for `of`; `undefined` as long as there is none, and while nothing is asked for. */
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
