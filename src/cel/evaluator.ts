/**
 * Decides where an expression runs, so that none can stall the daemon: expressions whose time is
 * bounded by a small input run inline; those with loops, which end at a deadline, and those that
 * read large values run in a Worker.
 *
 * There are two such Workers. In the quick lane an expression gets a part of the deadline. One that
 * needs more starts again in the slow lane, and for a while all other evaluations of the same
 * trigger do, too: slow expressions wait for each other, and no others wait for them.
 *
 * @module
 */

import { type Clock, systemClock } from "../base/clock.ts";
import type { CelResult, Expression, Scope } from "./expression.ts";
import { type Job, Lane } from "./lane.ts";
import { withMeant } from "./meant_field.ts";
import { cutOut, isHeavier } from "./references.ts";

/** Most characters that an expression may read inline: 8 KiB in 8 KiB took 30 ms at worst. */
const MAX_INLINE_CHARS = 16 * 1024;

/** Part of the deadline that an expression gets in the quick lane. */
const QUICK_PART = 0.25;

/** How long a share stays in the slow lane after it was last too slow for the quick one. */
const SLOW_FOR_MS = 10 * 60_000;

/** Evaluates expressions without blocking the event loop. */
export interface Evaluator extends Disposable {
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
): Evaluator {
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
      if (expression.cost !== "deadline" && !isHeavier(part, MAX_INLINE_CHARS)) {
        return meant(expression.run(scope), expression, scope);
      }
      const { share } = scope;
      const lane = slowShares.has(share) ? slow : quick;
      lane.checkRoom(share);
      const ran = new Promise((settle: Job["settle"]) =>
        lane.add({ share, source: expression.source, variables: part, settle })
      );
      return ran.then((result) => meant(result, expression, scope));
    },
    [Symbol.dispose]() {
      for (const forgetting of slowShares.values()) forgetting[Symbol.dispose]();
      slowShares.clear();
      quick[Symbol.dispose]();
      slow[Symbol.dispose]();
    },
  };
}

/** A result whose error names the field that was meant, where the payload has one of a like name. */
function meant(result: CelResult, { paths }: Expression, { variables }: Scope): CelResult {
  return result.ok ? result : { ...result, error: withMeant(result.error, paths, variables) };
}

function start(): Worker {
  return new Worker(import.meta.resolve("#cel-worker"), {
    type: "module",
    deno: { permissions: "none" },
  });
}
