/**
 * The lines of an operation, between its two records of the audit.
 *
 * @module
 */

import type { AuditedOperation, AuditLog } from "./audit_log.ts";

/**
 * Passes the lines on; the end is recorded also when the caller leaves.
 *
 * @throws {AppError} `overloaded` when the audit cannot be written, and nothing was done then; and what
 * the lines throw.
 */
export async function* auditedLines<Line>(
  what: AuditedOperation,
  lines: () => AsyncGenerator<Line>,
  host: Pick<AuditLog, "startAudited">,
): AsyncGenerator<Line, void, undefined> {
  const end = await host.startAudited(what);
  let failure: unknown;
  try {
    yield* lines();
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    await end(failure);
  }
}
