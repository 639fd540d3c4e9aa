/**
 * The work of an operation on a Connection as lines for its caller, between its two records of the
 * audit.
 *
 * @module
 */

import type { ConnectionLine } from "../../api/connection_operations.ts";
import { AppError } from "../../base/errors.ts";
import type { KnownSecrets } from "../../secrets/known_secrets.ts";
import type { AuditedOperation, AuditLog } from "../records/audit_log.ts";

/** Work that yields a line for each step that it has done, and returns its result. */
export type ConnectionWork<Result> = AsyncGenerator<
  { readonly step: string } | { readonly note: string },
  Result,
  undefined
>;

/**
 * Reports an error as a line too: an answer that has begun cannot turn into an error response. No
 * line holds a secret, although a platform may repeat in its answer what it was sent.
 */
export async function* toLines<Result>(
  work: ConnectionWork<Result>,
  { secrets }: { readonly secrets: KnownSecrets },
): AsyncGenerator<ConnectionLine<Result>, void, undefined> {
  await using _ended = work; // also when the reader leaves
  try {
    let step = await work.next();
    while (step.done !== true) {
      yield secrets.redactAll(step.value);
      step = await work.next();
    }
    yield { result: secrets.redactAll(step.value) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { code, message, details } = secrets.redactError(error);
    yield { refused: { code, message, details } };
  }
}

/**
 * Carries the work out, and records its end before its last line, which the caller may act upon.
 *
 * @throws {AppError} `overloaded` when the audit cannot be written; nothing was done then.
 */
export async function* audited<Result>(
  what: AuditedOperation,
  work: ConnectionWork<Result>,
  host: Pick<AuditLog, "startAudited"> & { readonly secrets: KnownSecrets },
): AsyncGenerator<ConnectionLine<Result>, void, undefined> {
  const end = await host.startAudited(what);
  let failure: unknown = new AppError(
    "refused",
    "The caller left or the daemon stopped before it was done",
  );
  try {
    for await (const line of toLines(work, host)) {
      if ("result" in line) failure = undefined;
      if ("refused" in line) failure = new AppError(line.refused.code, line.refused.message);
      if (!("step" in line || "note" in line)) await end(failure);
      yield line;
    }
  } finally {
    await end(failure); // does nothing if the end is recorded already
  }
}

/** Work that reports its steps by calling `onStep`. */
export async function* stepsOf<Result>(
  work: (onStep: (step: string) => void) => Promise<Result>,
): ConnectionWork<Result> {
  const steps: string[] = [];
  let wake = () => {};
  let ended = false;
  const result = work((step) => {
    steps.push(step);
    wake();
  }).finally(() => {
    ended = true;
    wake();
  });
  result.catch(() => {}); // awaited below
  for (;;) {
    const step = steps.shift();
    if (step !== undefined) yield { step };
    else if (ended) return await result;
    else await new Promise<void>((resolve) => wake = resolve);
  }
}
