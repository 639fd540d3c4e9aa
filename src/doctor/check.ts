/**
 * What a check of `svc doctor` is, and how checks are carried out one after the other.
 *
 * @module
 */

import type { DoctorFinding, DoctorLine } from "../api/doctor_operations.ts";
import { AppError, messageOf } from "../base/errors.ts";

/** What a check has found, beside its own name. */
export type Finding = Omit<DoctorFinding, "check">;

/** One check, which changes nothing. */
export interface Check<Host> {
  /** As people see it: one to three words. */
  readonly name: string;
  /**
   * Makes the check; returns no finding when there is nothing to check.
   *
   * @throws {AppError} which counts as a failed check.
   */
  readonly look: (host: Host, signal?: AbortSignal) => Promise<readonly Finding[]>;
}

/** A finding that something works. */
export function ok(message: string): Finding {
  return { result: "ok", message };
}

/** A finding that something works worse than it could, or soon will not. */
export function warning(message: string): Finding {
  return { result: "warning", message };
}

/** A finding that something does not work. */
export function failed(message: string): Finding {
  return { result: "failed", message };
}

/** Makes checks in their order; an error of one does not stop the others. */
export async function* examine<Host>(
  checks: readonly Check<Host>[],
  host: Host,
  signal?: AbortSignal,
): AsyncGenerator<DoctorLine, void, undefined> {
  for (const { name, look } of checks) {
    if (signal?.aborted === true) return;
    yield { begins: name };
    for (const finding of await look(host, signal).catch(refused)) {
      yield { finding: { check: name, ...finding } };
    }
  }
}

function refused(error: unknown): readonly Finding[] {
  if (!(error instanceof AppError)) return [failed(`It cannot be checked: ${messageOf(error)}`)];
  return [failed([error.message, ...error.details].join("; "))];
}
