/**
 * Calls of GitLab's REST API (https://docs.gitlab.com/api/rest/), at gitlab.com or a server of one's own.
 * A call returns its failure, so that each caller decides whether it tries again; the message says
 * which right is missing.
 *
 * @module
 */

import { isJsonObject, objectIn, textIn } from "../../base/json.ts";
import { pauseUntil } from "../../http/asked_pause.ts";
import { type RateLimit, type Refused, restClient } from "../api/rest_client.ts";

/** The calls of GitLab's API. */
export const { call: callGitLab, mustCall, listAll } = restClient({
  service: { host: "gitlab.com", title: "GitLab" },
  headersOf: (token) => ({
    accept: "application/json",
    ...(token === "" ? {} : { "private-token": token }),
  }),
  saidIn,
  limitIn,
  missingRight,
  hasMoved,
  moved: "the project was renamed or transferred, write its new path",
});

/** Path of a project in the API. */
export function projectPath(repository: string): string {
  return `/projects/${encodeURIComponent(repository)}`;
}

/**
 * Pages of lists of texts, which may have a million characters each: fewer of them than GitLab allows,
 * and larger answers.
 */
export const TEXTS = { items: 50, maxBytes: 64 * 1024 * 1024 };

/** A number by which GitLab names something; `undefined` if there is none. */
export function idIn(
  data: unknown,
  name: "id" | "iid" | "source_project_id" | "target_project_id",
): number | undefined {
  const id = objectIn(data)[name];
  return typeof id === "number" && Number.isSafeInteger(id) && id > 0 ? id : undefined;
}

/** The right that the call needs and the token lacks. */
function missingRight({ data }: Refused): string {
  const { error, scope } = objectIn(data);
  if (error === "insufficient_scope") {
    const scopes = namesIn(Array.isArray(scope) ? scope.join(" ") : scope);
    return `: the token needs the scope ${scopes.length === 0 ? "api" : scopes.join(" or ")}`;
  }
  return ": the user of the token needs a higher role in the project, Developer to answer and " +
    "push, Maintainer for webhooks";
}

/** Names of scopes, which are shown to people. */
function namesIn(scope: unknown): readonly string[] {
  return textIn(scope).split(/[\s,]+/).filter((name) => /^[a-z_]{1,40}$/.test(name)).slice(0, 10);
}

/** Reading is sent elsewhere, and writing refused: a redirect would lose the body. */
function hasMoved({ status, said }: Refused): boolean {
  return [301, 302, 303, 307, 308].includes(status) ||
    status === 405 && /moved projects/i.test(said);
}

function limitIn({ status, headers }: Refused, now: number): RateLimit {
  if (status !== 429) return { isLimit: false };
  return { isLimit: true, secs: pauseUntil(headers.get("ratelimit-reset"), now) };
}

/** The words of an error, which has several forms; at most a few hundred characters. */
function saidIn(data: unknown): string {
  const { message, error, error_description: description } = objectIn(data);
  const parts = [...wordsIn(message, 0), ...wordsIn(error, 0), ...wordsIn(description, 0)];
  return parts.slice(0, 5).join("; ").replaceAll(/\s+/g, " ").slice(0, 300);
}

/** A text, a list of texts, or texts by the names of fields. */
function wordsIn(value: unknown, depth: number): readonly string[] {
  if (typeof value === "string") return value === "" ? [] : [value.slice(0, 300)];
  if (depth > 2) return [];
  if (Array.isArray(value)) return value.slice(0, 3).flatMap((one) => wordsIn(one, depth + 1));
  if (!isJsonObject(value)) return [];
  return Object.entries(value).slice(0, 3).flatMap(([field, why]) =>
    wordsIn(why, depth + 1).map((words) => `${field} ${words}`)
  );
}
