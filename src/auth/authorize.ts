/**
 * Decides whether a caller may use an operation, from the roles and grants in the operation's
 * definition. The control server asks both questions before any code of the operation runs.
 *
 * @module
 */

import type { Access, RunKind } from "../api/roles.ts";
import { AppError } from "../base/errors.ts";
import type { JsonObject } from "../base/json.ts";
import { hasRole } from "../base/roles.ts";
import { DEFAULT_PROJECT } from "../resources/resource.ts";
import type { Caller } from "./caller.ts";

const RUNS: Readonly<Record<RunKind, string>> = {
  step: "a step",
  plugin: "a plugin",
  cron: "a cron plugin",
};

const OWN = {
  task: "its own task",
  delivery: "the delivery that started its own task, and those that it waited for",
  project: "its own project",
} as const;

/**
 * Refuses a caller that may not use the operation with any input. It is called before the input is
 * read.
 *
 * @throws {AppError} `forbidden`.
 */
export function checkCaller({ role, grants }: Access, caller: Caller): void {
  const { grant } = caller;
  if (grant === undefined) {
    if (hasRole(caller.role, role)) return;
    throw new AppError("forbidden", `This needs the role ${role}, and you have ${caller.role}`);
  }
  const scope = grants[grant.kind];
  if (scope !== undefined && (scope !== "everything" || grant.ownOnly !== true)) return;
  throw new AppError("forbidden", `The run token of ${RUNS[grant.kind]} does not allow this`);
}

/** Whether the caller may use the operation only with records of its own. */
export function isLimitedToOwn({ grants }: Access, { grant }: Caller): boolean {
  return grant !== undefined && grants[grant.kind] !== "everything";
}

/**
 * Refuses a run that names records of others, where the operation grants only its own. The input has
 * complete ids already, so the operation acts on exactly the records that are checked here.
 *
 * @throws {AppError} `forbidden`.
 */
export function checkOwn(input: JsonObject, { grants }: Access, { grant }: Caller): void {
  if (grant === undefined) return;
  const scope = grants[grant.kind];
  if (scope === "everything") return;
  const refused = (what: string) =>
    new AppError("forbidden", `The run token of ${RUNS[grant.kind]} allows this only with ${what}`);
  if (scope === undefined) throw refused("nothing");
  const named = input[scope.in];
  if (scope.own === "project") {
    if ((named ?? DEFAULT_PROJECT) === grant.project) return;
    throw refused(OWN.project);
  }
  const own: readonly unknown[] = scope.own === "task"
    ? [grant.taskId]
    : [grant.deliveryId, ...grant.waitedFor ?? []];
  const ids = [named].flat();
  if (ids.length === 0 || ids.some((id) => id === undefined || !own.includes(id))) {
    throw refused(OWN[scope.own]);
  }
}
