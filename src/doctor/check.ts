/**
 * What a check of `svc doctor` is, and how checks are carried out one after the other.
 *
 * @module
 */

import type { DoctorFinding, DoctorLine } from "../api/doctor_operations.ts";
import { AppError, messageOf } from "../base/errors.ts";

/** What a check has found, beside its own name. */
export type Finding = Omit<DoctorFinding, "check">;

/** One check, which looks at a thing and changes nothing of it. */
export interface Check<Host> {
  /** As people see it: one to three words. */
  readonly name: string;
  /**
   * Looks; gives nothing where there is nothing to look at.
   *
   * @throws {AppError} where what it looks at cannot be used, which counts as failed.
   */
  readonly look: (host: Host, signal?: AbortSignal) => Promise<readonly Finding[]>;
}

/** It works. */
export function ok(message: string): Finding {
  return { result: "ok", message };
}

/** It works, and somebody should know. */
export function warning(message: string): Finding {
  return { result: "warning", message };
}

/** It does not work. */
export function failed(message: string): Finding {
  return { result: "failed", message };
}

/** Carries out checks in their order; no fault of one keeps the others from being made. */
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
