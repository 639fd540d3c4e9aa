/**
 * Converts the fields of a request to a query of the store: times to milliseconds, and texts that
 * name records to their ids.
 *
 * @module
 */

import type { GetInput } from "../../api/resource_operations.ts";
import { AppError } from "../../base/errors.ts";
import type { RecordQuery } from "./record_type.ts";

/** Records listed when no limit is given. */
const DEFAULT_LIMIT = 50;

/** Length of a whole id. */
const ID_LENGTH = 26;

/** Fields that the store takes as they are. */
const SAME = [
  "project",
  "trigger",
  "outcome",
  "state",
  "workflow",
  "reason",
  "status",
  "remote",
  "key",
  "delivery",
  "parent",
  "session",
  "thread",
  "task",
  "caller",
] as const;

/**
 * The store's query for a request; each type checks outcome and state itself.
 *
 * @throws {AppError} `usage` for a `before` or `after` that is not the beginning of an id, and for
 * a `since` or `until` that is no time.
 */
export function toQuery(
  input: Omit<GetInput, "what" | "name" | "selector">,
  now: number,
): RecordQuery {
  const same = SAME.flatMap((field) => input[field] === undefined ? [] : [[field, input[field]]]);
  const given = {
    since: sinceOf(input, now),
    until: timeOf("until", input.until),
    before: idOf(input.before),
    after: behind(idOf(input.after)),
    retryOf: input.retry_of,
    minDurationMs: input.min_duration_ms,
  };
  const made = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries([...same, ...made]), limit: input.limit ?? DEFAULT_LIMIT };
}

function sinceOf({ since, since_secs: secs }: Pick<GetInput, "since" | "since_secs">, now: number) {
  if (since !== undefined && secs !== undefined) {
    throw new AppError("usage", "give either since or since_secs");
  }
  return secs === undefined ? timeOf("since", since) : now - secs * 1000;
}

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i;

function timeOf(field: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = RFC_3339.test(text) ? Date.parse(text) : NaN;
  if (!Number.isNaN(ms)) return ms;
  throw new AppError(
    "usage",
    `${field} takes a time such as 2026-01-31T08:00:00Z, not "${text}"`,
  );
}

function idOf(given: string | undefined): string | undefined {
  const id = given?.replace(/^[a-z-]+\//, "").toUpperCase();
  if (id === undefined || /^[0-9A-Z]{1,26}$/.test(id)) return id;
  throw new AppError("usage", `"${given}" is not an id or the beginning of one`);
}

/** A text that sorts behind every id with this beginning. */
function behind(id: string | undefined): string | undefined {
  return id === undefined || id.length === ID_LENGTH ? id : `${id}~`;
}
