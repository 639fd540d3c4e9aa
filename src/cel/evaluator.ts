/**
 * Decides where an expression runs, so that none can stall the daemon: expressions whose time is
 * bounded by a small input run inline; those with loops, which end at a deadline, and those that
 * read large values run in a Worker.
 *
 * There are two Workers. In the quick one an expression gets a part of the deadline. One that needs
 * more starts again in the slow one, and for a while all other evaluations of the same share start
 * there: slow expressions wait for each other, and no others wait for them.
 *
 * @module
 */

import { type Clock, systemClock } from "../base/clock.ts";
import { CelWorker, type Job } from "./cel_worker.ts";
import { withSuggestion } from "./errors.ts";
import type { CelResult, Expression, Scope } from "./expression.ts";
import { cutOut, isHeavier, valuesAt } from "./values.ts";

/** Most characters that an expression may read inline: 8 KiB in 8 KiB took 30 ms at worst. */
const MAX_INLINE_CHARS = 16 * 1024;

/** Part of the deadline that an expression gets in the quick Worker. */
const QUICK_PART = 0.25;

/** How long a share stays with the slow Worker after it was last too slow for the quick one. */
const SLOW_FOR_MS = 10 * 60_000;

/** Evaluates expressions without blocking the event loop. */
export interface Evaluator {
  /**
   * Evaluates `expression` over `scope`; one that takes too long has an error as its result.
   *
   * @throws {AppError} `overloaded` when too many evaluations of the scope's share wait already.
   */
  evaluate(expression: Expression, scope: Scope): CelResult | Promise<CelResult>;
}

/**
 * Creates an evaluator. Each evaluation in a Worker may take `deadlineMs` by the machine's own
 * clock, the only one in a Worker; `onLate` is called for each that took longer. `clock` times how
 * long slow shares are remembered.
 */
export function createEvaluator(
  { deadlineMs, clock = systemClock, onLate = () => {} }: {
    readonly deadlineMs: number;
    readonly clock?: Clock;
    readonly onLate?: () => void;
  },
): Evaluator & Disposable {
  /** Shares that were too slow recently, with the timer that removes each. */
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
  const slow = new CelWorker(deadlineMs, (job) => {
    onLate();
    noteSlow(job.share);
    job.settle({ ok: false, error: `took longer than ${deadlineMs} ms` });
  });
  const quick = new CelWorker(deadlineMs * QUICK_PART, (job) => {
    noteSlow(job.share);
    for (const waiting of [job, ...quick.takeAll(job.share)]) slow.add(waiting);
  });

  return {
    evaluate(expression, scope) {
      const { variables, share } = scope;
      const { paths } = expression;
      if (
        expression.cost !== "deadline" && !isHeavier(valuesAt(variables, paths), MAX_INLINE_CHARS)
      ) {
        return suggest(expression.run(scope), expression, scope);
      }
      const worker = slowShares.has(share) ? slow : quick;
      worker.checkRoom(share);
      const result = new Promise((settle: Job["settle"]) =>
        worker.add({
          share,
          source: expression.source,
          variables: cutOut(variables, paths),
          settle,
        })
      );
      return result.then((settled) => suggest(settled, expression, scope));
    },
    [Symbol.dispose]() {
      for (const timer of slowShares.values()) timer[Symbol.dispose]();
      slowShares.clear();
      quick[Symbol.dispose]();
      slow[Symbol.dispose]();
    },
  };
}

/** A result whose error names the field that was probably meant. */
function suggest(result: CelResult, { paths }: Expression, { variables }: Scope): CelResult {
  return result.ok ? result : { ok: false, error: withSuggestion(result, paths, variables) };
}
