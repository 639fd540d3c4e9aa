/**
 * What the console does, a closed list: no operation gets into it by being added to the control
 * plane, and what is not in it is done in the terminal. The daemon decides roles all the same.
 *
 * @module
 */

import { findOperation, type OperationName } from "../api/operations.ts";
import { AppError } from "../base/errors.ts";
import type { JsonObject } from "../base/json.ts";

/** The operations that its pages use. */
export const CONSOLE_OPERATIONS = [
  "status",
  "stats",
  "get",
  "describe",
  "task",
  "task.cancel",
  "task.cancel.matching",
  "task.inbox",
  "task.inbox.send",
  "task.log.read",
  "task.logs", // a download
  "task.plan",
  "task.retry",
  "task.retry.matching",
  "task.workspace",
  "trigger.backtest",
  "trigger.fire",
  "trigger.resume",
  "trigger.suspend",
  "trigger.test",
  "delivery.explain",
  "delivery.redeliver",
  "delivery.show",
  "source.bind",
  "source.replay",
  "outbox.drop",
  "outbox.retry",
  "audit.verify",
  "watch",
] as const satisfies readonly OperationName[];

/** Name of one of {@linkcode CONSOLE_OPERATIONS}. */
export type ConsoleOperation = typeof CONSOLE_OPERATIONS[number];

/** A call as the console may make it. */
export interface AllowedCall {
  readonly name: ConsoleOperation;
  /** Whether the answer is a stream. */
  readonly streams: boolean;
  /** The input that is handed on in the place of the one that was given. */
  readonly restrict: (input: JsonObject) => JsonObject;
}

/**
 * The call that a name stands for; `readOnly` leaves what the role `read_only` may do.
 *
 * @throws {AppError} `forbidden` for every other name.
 */
export function allowedCall(given: string, readOnly: boolean): AllowedCall {
  const name = CONSOLE_OPERATIONS.find((one) => one === given);
  const operation = name === undefined ? undefined : findOperation(name);
  if (name === undefined || operation === undefined) {
    throw new AppError("forbidden", "The console does not do this: use svc in a terminal");
  }
  if (readOnly && operation.role !== "read_only") {
    throw new AppError("forbidden", "This console was started with --read-only");
  }
  return {
    name,
    streams: operation.output.form === "lines",
    restrict: RESTRICTED[name] ?? ((input) => input),
  };
}

/** What may not be had of an operation that is allowed. */
const RESTRICTED: { readonly [Name in ConsoleOperation]?: AllowedCall["restrict"] } = {
  describe: (input) => ({ ...input, reveal: false }),
};
