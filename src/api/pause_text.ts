/**
 * A pause in one sentence, as `svc status` and the console say it.
 *
 * ```ts
 * import { pauseText } from "./pause_text.ts";
 * import { strictEqual as equal } from "node:assert/strict";
 *
 * const pause = { reason: "upgrade", by: "ada", since: "2030-01-31T09:00:00Z" };
 * equal(
 *   pauseText({ ...pause, project: null, until: null }),
 *   "no task starts since 2030-01-31T09:00:00Z, by ada: upgrade (svc resume)",
 * );
 * equal(
 *   pauseText({ ...pause, project: "shop", until: "2030-01-31T11:00:00Z" }),
 *   "no task of project shop starts since 2030-01-31T09:00:00Z, until 2030-01-31T11:00:00Z, " +
 *     "by ada: upgrade (svc resume --project shop)",
 * );
 * ```
 *
 * @module
 */

import type { PauseView } from "./pause_operations.ts";

/** The sentence, without a full stop. */
export function pauseText({ project, reason, by, since, until }: PauseView): string {
  const of = project === null ? "" : ` of project ${project}`;
  const end = until === null ? "" : `, until ${until}`;
  return `no task${of} starts since ${since}${end}, by ${by}: ${reason} (${
    resumeCommand(project)
  })`;
}

/** The command that ends the pause. */
export function resumeCommand(project: string | null): string {
  return project === null ? "svc resume" : `svc resume --project ${project}`;
}
