/**
 * Calls of GitHub's REST API (https://docs.github.com/en/rest), which GitHub Enterprise, Gitea and
 * Forgejo speak as well. A call returns its failure, so that each caller decides whether it tries
 * again; the message says which right is missing.
 *
 * @module
 */

import { isJsonObject } from "../../base/json.ts";
import { pauseUntil } from "../../http/asked_pause.ts";
import { type RateLimit, type Refused, restClient } from "../api/rest_client.ts";

/** The calls of GitHub's API. */
export const { call: callGitHub, mustCall, listAll } = restClient({
  service: { host: "api.github.com", title: "GitHub" },
  headersOf: (token) => ({
    accept: "application/vnd.github+json",
    ...(token === "" ? {} : { authorization: `Bearer ${token}` }),
    "x-github-api-version": "2022-11-28",
  }),
  saidIn,
  limitIn,
  missingRight,
  hasMoved: ({ status }) => [301, 307, 308].includes(status),
  moved: "the repository was renamed or transferred, write its new name",
});

/** The right that the call needs and the token lacks, if the answer names it. */
function missingRight({ headers }: Refused): string {
  const sso = headers.get("x-github-sso");
  if (sso?.startsWith("required") === true) {
    return ": authorize the token for the single sign-on of the organization";
  }
  const accepted = headers.get("x-accepted-github-permissions");
  if (accepted !== null && accepted !== "") {
    return `: the token needs the permission ${accepted.replaceAll("; ", " or ")}`;
  }
  const scopes = headers.get("x-accepted-oauth-scopes");
  if (scopes === null || scopes === "") return "";
  const has = headers.get("x-oauth-scopes") ?? "";
  return `: the token needs one of the scopes ${scopes}, and has ${has === "" ? "none" : has}`;
}

function limitIn({ status, headers, said }: Refused, now: number): RateLimit {
  const isUsedUp = headers.get("x-ratelimit-remaining") === "0";
  return {
    isLimit: status === 429 || /rate limit|abuse detection/i.test(said),
    secs: isUsedUp ? pauseUntil(headers.get("x-ratelimit-reset"), now) : undefined,
  };
}

/** `message` of an error, with the words of its `errors`; at most a few hundred characters. */
function saidIn(data: unknown): string {
  if (!isJsonObject(data)) return "";
  const { message, errors } = data;
  const details = Array.isArray(errors) ? errors.slice(0, 3).map(detailOf) : [];
  const parts = [typeof message === "string" ? message : "", ...details];
  return parts.filter((part) => part !== "").join("; ").replaceAll(/\s+/g, " ").slice(0, 300);
}

function detailOf(error: unknown): string {
  if (typeof error === "string") return error;
  if (!isJsonObject(error)) return "";
  const { message, field, code } = error;
  if (typeof message === "string") return message;
  return [field, code].filter((part) => typeof part === "string").join(" ");
}
