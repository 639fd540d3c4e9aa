/**
 * The handlers of the operations on pauses.
 *
 * @module
 */

import type { PAUSE_OPERATIONS } from "../api/pause_operations.ts";
import { resumeCommand } from "../api/pause_text.ts";
import { withClient } from "../auth/caller.ts";
import type { Clock } from "../base/clock.ts";
import { defined } from "../base/defined.ts";
import { AppError } from "../base/errors.ts";
import type { Catalog } from "../resources/catalog.ts";
import { projectsOf } from "../resources/projects.ts";
import type { Pause } from "../store/pause_records.ts";
import type { PauseStore } from "../store/pause_store.ts";
import { MAX_PAUSE_SECS } from "../store/rules/pauses.ts";
import type { AuditLog } from "./records/audit_log.ts";
import { pauseView } from "./records/pause_view.ts";
import type { Handlers } from "./server/server.ts";

/** The parts of a daemon that pausing needs. */
interface PauseHost extends AuditLog {
  readonly store: PauseStore;
  readonly catalog: Catalog;
  readonly clock: Clock;
}

/** The handlers, by name of the operation. */
export function pauseHandlers(host: PauseHost): Pick<Handlers, keyof typeof PAUSE_OPERATIONS> {
  const { store, clock } = host;
  return {
    "pause": ({ project = "", for_secs: forSecs, reason }, caller) =>
      host.audited({ operation: "pause", targets: [targetOf(project)], caller }, async () => {
        checkProject(project, host.catalog);
        checkTime(forSecs);
        const now = clock.now();
        const pause: Pause = {
          project,
          reason: reason.trim(),
          by: withClient(caller.name, caller.client),
          pausedAt: now,
          ...defined({ until: forSecs === undefined ? undefined : now + forSecs * 1000 }),
        };
        if (pause.reason === "") throw new AppError("usage", "Say why: --reason has no text");
        await store.pauseTasks(pause);
        return { ...pauseView(pause), running: await store.countRunning(project) };
      }),
    "pause.running": async ({ project = "" }) => ({ running: await store.countRunning(project) }),
    "resume": ({ project = "" }, caller) =>
      host.audited({ operation: "resume", targets: [targetOf(project)], caller }, async () => {
        const ended = await store.resumeTasks(project, clock.now());
        if (ended !== undefined) return pauseView(ended);
        const [other] = await store.listPauses(clock.now());
        throw notPaused(project, other);
      }),
  };
}

function targetOf(project: string): string {
  return project === "" ? "tasks" : `project/${project}`;
}

function checkProject(project: string, catalog: Catalog): void {
  if (project === "" || projectsOf(catalog).some(({ name }) => name === project)) return;
  throw new AppError("not_found", `No project "${project}": "svc get projects" lists them`);
}

function checkTime(secs: number | undefined): void {
  if (secs === undefined || (secs > 0 && secs <= MAX_PAUSE_SECS)) return;
  throw new AppError(
    "usage",
    secs > MAX_PAUSE_SECS
      ? "A pause lasts 30 days at most: leave --for out for one without an end"
      : "A pause lasts a second at least: --for takes a duration such as 2h",
  );
}

function notPaused(project: string, other: Pause | undefined): AppError {
  const asked = project === ""
    ? "Tasks are not paused as a whole"
    : `Project ${project} is not paused`;
  const there = other === undefined
    ? ""
    : other.project === ""
    ? `: all tasks are, "${resumeCommand(null)}" ends that`
    : `: project ${other.project} is, "${resumeCommand(other.project)}" ends that`;
  return new AppError("not_found", `${asked}${there}`);
}
