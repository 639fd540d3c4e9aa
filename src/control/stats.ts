/**
 * `stats`: counts and times minute by minute, of all triggers or of one.
 *
 * @module
 */

import type { Input } from "../api/operations.ts";
import type { Percentiles, Stats } from "../api/status_operations.ts";
import { rfc3339 } from "../base/clock.ts";
import { defined } from "../base/defined.ts";
import { AppError } from "../base/errors.ts";
import type { Catalog } from "../resources/catalog.ts";
import { trigger as kind } from "../resources/trigger.ts";
import { findResource } from "./resources/queries.ts";

/** Minutes, where the input does not say how many. */
const DEFAULT_MINUTES = 60;

/** The triggers of a daemon, and its figures. */
export interface StatsHost {
  readonly catalog: Catalog;
  /** The figures of the last minutes. */
  readonly minutes: (query: {
    readonly minutes: number;
    readonly trigger?: { readonly project: string; readonly name: string };
  }) => {
    readonly from: number;
    readonly since: number | undefined;
    readonly deliveries: Stats["deliveries"];
    readonly answerMs: Percentiles;
    readonly startMs: Percentiles;
    readonly tasks?: Stats["tasks"];
    readonly queue?: Stats["queue"];
  };
}

/**
 * The figures, a value for each minute.
 *
 * @throws {AppError} `usage` for a project without a trigger, `not_found` when there is no such
 *   trigger.
 */
export function stats(
  { minutes = DEFAULT_MINUTES, trigger: name, project }: Input<"stats">,
  host: StatsHost,
): Stats {
  if (name === undefined && project !== undefined) {
    throw new AppError("usage", "A project needs a trigger here: name the trigger too");
  }
  const trigger = name === undefined
    ? undefined
    : findResource(kind, { project, name }, host.catalog);
  const { from, since, deliveries, answerMs, startMs, tasks, queue } = host.minutes(
    trigger === undefined ? { minutes } : { minutes, trigger },
  );
  return {
    from: rfc3339(from),
    step_secs: 60,
    counted_since: since === undefined ? null : rfc3339(since),
    deliveries,
    answer_ms: answerMs,
    start_ms: startMs,
    ...defined({ tasks, queue }),
  };
}
