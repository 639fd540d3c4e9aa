/**
 * Decides where an expression runs, so that none can stall the daemon: what is bounded by its input
 * runs at once; loops, which end themselves at a deadline, and whatever looks at large values, run
 * in a Worker.
 *
 * There are two such Workers. In the quick lane an expression has a part of the deadline. One that
 * needs more begins again in the slow lane, and so does, for a while, whatever else is evaluated
 * for the same trigger: slow expressions wait for each other, and no others wait for them.
 *
 * @module
 */

import { type Clock, systemClock } from "../base/clock.ts";
import type { CelResult, Expression, Scope } from "./expression.ts";
import { type Job, Lane } from "./lane.ts";
import { cutOut, isHeavier } from "./references.ts";

/**
 * Most that an expression may look at inline, in characters: 8 KiB in 8 KiB took 30 ms at worst.
 */
const SMALL = 16 * 1024;

/** Part of the deadline that an expression has in the quick lane. */
const QUICK_PART = 0.25;

/** How long a share stays in the slow lane after it was last too slow for the quick one. */
const SLOW_FOR_MS = 10 * 60_000;

/** Evaluates expressions without ever holding up the event loop. */
export interface Evaluator extends Disposable {
  /**
   * The value of `expression` over `scope`; an expression that takes too long is an error result.
   *
   * @throws {AppError} `overloaded` when too many costly evaluations of the scope's share wait
   * already.
   */
  evaluate(expression: Expression, scope: Scope): CelResult | Promise<CelResult>;
}

/**
 * An evaluator whose costly evaluations may take `deadlineMs` each, by the machine's own clock, as
 * a Worker has no other; `onLate` hears of those that do not. `clock` says how long slow ones are
 * remembered.
 */
export function createEvaluator(
  { deadlineMs, clock = systemClock, onLate = () => {} }: {
    readonly deadlineMs: number;
    readonly clock?: Clock;
    readonly onLate?: () => void;
  },
): Evaluator {
  /** Shares that were too slow lately, with what forgets it. */
  const slowShares = new Map<string, Disposable>();

  const noteSlow = (share: string) => {
    slowShares.get(share)?.[Symbol.dispose]();
    slowShares.set(
      share,
      clock.after(SLOW_FOR_MS, () => {
        slowShares.delete(share);
        if (slowShares.size === 0) slow.rest();
      }),
    );
  };
  const slow = new Lane({
    start,
    deadlineMs,
    onLate(job) {
      onLate();
      noteSlow(job.share);
      job.settle({ ok: false, error: `took longer than ${deadlineMs} ms` });
    },
  });
  const quick = new Lane({
    start,
    deadlineMs: deadlineMs * QUICK_PART,
    onLate(job) {
      noteSlow(job.share);
      for (const one of [job, ...quick.takeAll(job.share)]) slow.add(one);
    },
  });

  return {
    evaluate(expression, scope) {
      const part = cutOut(scope.variables, expression.paths);
      if (expression.cost !== "deadline" && !isHeavier(part, SMALL)) return expression.run(scope);
      const { share } = scope;
      const lane = slowShares.has(share) ? slow : quick;
      lane.checkRoom(share);
      return new Promise((settle: Job["settle"]) =>
        lane.add({ share, source: expression.source, variables: part, settle })
      );
    },
    [Symbol.dispose]() {
      for (const forgetting of slowShares.values()) forgetting[Symbol.dispose]();
      slowShares.clear();
      quick[Symbol.dispose]();
      slow[Symbol.dispose]();
    },
  };
}

function start(): Worker {
  return new Worker(import.meta.resolve("#cel-worker"), {
    type: "module",
    deno: { permissions: "none" },
  });
}
