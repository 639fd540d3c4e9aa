/**
 * Decides where an expression runs, so that none can stall the daemon (contract 2, "CEL"): what is
 * bounded by its input runs at once; loops, and whatever looks at large values, run in a Worker that
 * is ended at a deadline.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import { toJson } from "../base/json.ts";
import type { CelResult, Expression, Scope } from "./expression.ts";
import { cutOut, isHeavier } from "./references.ts";

/** Most that an expression may look at inline, in characters: 8 KiB in 8 KiB took 30 ms at worst. */
const SMALL = 16 * 1024;

/** Most evaluations waiting for the Worker; beyond it the request is refused as overload. */
const MAX_WAITING = 200;

/** Evaluates expressions without ever holding up the event loop. */
export interface Evaluator extends Disposable {
  /**
   * The value of `expression` over `scope`; an expression that takes too long is an error result.
   *
   * @throws {AppError} `overloaded` when too many costly evaluations wait already.
   */
  evaluate(expression: Expression, scope: Scope): CelResult | Promise<CelResult>;
}

/** A request to the Worker; variables travel as JSON text, which keeps large numbers exact. */
export interface EvaluationRequest {
  /** Text of the expression. */
  readonly source: string;
  /** JSON object of the variables it may use. */
  readonly variables: string;
}

const CLOSED: CelResult = { ok: false, error: "the program is ending" };
const TOO_DEEP: CelResult = { ok: false, error: "a value is nested too deeply" };

/** An evaluator whose costly evaluations may take `deadlineMs` each; `onLate` hears of those that do not. */
export function createEvaluator(
  { deadlineMs, onLate = () => {} }: { deadlineMs: number; onLate?: () => void },
): Evaluator {
  let worker: Worker | undefined;
  let closed = false;
  let giveUp = (_result: CelResult) => {};
  let waiting = 0;
  let tail: Promise<unknown> = Promise.resolve();

  const stop = () => {
    worker?.terminate();
    worker = undefined;
  };

  /** Starting a Worker takes longer than most deadlines, so the time counts from its first word. */
  const ask = (request: EvaluationRequest) => {
    const { promise, resolve, reject } = Promise.withResolvers<CelResult>();
    if (closed) return Promise.resolve(CLOSED);
    let timer: number | undefined;
    giveUp = (result) => {
      clearTimeout(timer);
      stop();
      resolve(result);
    };
    const fresh = worker === undefined;
    const asked = worker ??= startWorker();
    asked.onerror = (event) => {
      event.preventDefault();
      if (timer === undefined) reject(new Error(`The CEL Worker: ${event.message}`));
      giveUp({ ok: false, error: `evaluation failed: ${event.message}` });
    };
    const put = () => {
      const late: CelResult = { ok: false, error: `took longer than ${deadlineMs} ms` };
      timer = setTimeout(() => {
        onLate();
        giveUp(late);
      }, deadlineMs);
      asked.onmessage = (event: MessageEvent<CelResult>) => {
        clearTimeout(timer);
        resolve(event.data);
      };
      asked.postMessage(request);
    };
    if (fresh) asked.onmessage = put;
    else put();
    return promise;
  };

  return {
    evaluate(expression, scope) {
      const part = cutOut(scope.variables, expression.paths);
      if (expression.cost !== "deadline" && !isHeavier(part, SMALL)) return expression.run(scope);
      if (waiting >= MAX_WAITING) {
        throw new AppError("overloaded", "Too many slow expressions are waiting");
      }
      waiting++;
      const result = tail.then(() => {
        const variables = findJson(part); // one text at a time: it can have megabytes
        return variables === undefined ? TOO_DEEP : ask({ source: expression.source, variables });
      }).finally(() => waiting--);
      tail = result.catch(() => {});
      return result;
    },
    [Symbol.dispose]() {
      closed = true;
      stop();
      giveUp(CLOSED);
    },
  };
}

function startWorker(): Worker {
  return new Worker(import.meta.resolve("#cel-worker"), {
    type: "module",
    deno: { permissions: "none" },
  });
}

/** JSON of `value`; `undefined` when it is nested too deeply for that. */
function findJson(value: unknown): string | undefined {
  try {
    return toJson(value);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
