/**
 * Decides where an expression runs, so that none can stall the daemon (contract 2, "CEL"): what is
 * bounded by its input runs at once; loops, and searches in a large payload, run in a Worker that is
 * ended at a deadline.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import { toJson } from "../base/json.ts";
import type { CelResult, Expression, Scope } from "./expression.ts";

/** Largest payload in which searches run inline, in bytes: 8 KiB in 8 KiB took 30 ms at worst. */
const SMALL_BYTES = 16 * 1024;

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

/** An evaluator whose costly evaluations may take `deadlineMs` each. */
export function createEvaluator(options: { deadlineMs: number }): Evaluator {
  let worker: Worker | undefined;
  let waiting = 0;
  let tail: Promise<unknown> = Promise.resolve();

  const stop = () => {
    worker?.terminate();
    worker = undefined;
  };

  /** Starting the Worker takes longer than most deadlines, so it is waited for by itself. */
  const start = (): Promise<Worker> =>
    new Promise((resolve, reject) => {
      const started = new Worker(import.meta.resolve("#cel-worker"), {
        type: "module",
        deno: { permissions: "none" },
      });
      started.onmessage = () => resolve(started);
      started.onerror = (event) => {
        event.preventDefault();
        reject(new Error(event.message));
      };
    });

  const ask = async (request: EvaluationRequest): Promise<CelResult> => {
    const asked = worker ??= await start();
    return await new Promise((resolve) => {
      const settle = (result: CelResult, broken: boolean) => {
        clearTimeout(timer);
        if (broken) stop();
        resolve(result);
      };
      const timer = setTimeout(
        () => settle({ ok: false, error: `took longer than ${options.deadlineMs} ms` }, true),
        options.deadlineMs,
      );
      asked.onmessage = (event: MessageEvent<CelResult>) => settle(event.data, false);
      asked.onerror = (event) => {
        event.preventDefault();
        settle({ ok: false, error: `evaluation failed: ${event.message}` }, true);
      };
      asked.postMessage(request);
    });
  };

  return {
    evaluate(expression, scope) {
      const inline = expression.cost === "cheap" ||
        (expression.cost === "small" && scope.bytes <= SMALL_BYTES);
      if (inline) return expression.run(scope);
      if (waiting >= MAX_WAITING) {
        throw new AppError("overloaded", "Too many slow expressions are waiting");
      }
      waiting++;
      const request = { source: expression.source, variables: toJson(scope.variables) };
      const result = tail.then(() => ask(request)).finally(() => waiting--);
      tail = result.catch(() => {});
      return result;
    },
    [Symbol.dispose]: stop,
  };
}
