/**
 * How git's protocol over HTTP fails, and what that means for a push: an answer with another status, no
 * answer, or one that breaks the protocol.
 *
 * @module
 */

import { defined } from "../base/defined.ts";
import { AppError, messageOf } from "../base/errors.ts";
import { plainOutput } from "../base/output_text.ts";
import { askedPause } from "../http/asked_pause.ts";
import type { Unanswered } from "../http/send.ts";
import type { GitFailure } from "./change.ts";

/** Most bytes of a page that explains a refusal. */
const MAX_PAGE = 64 * 1024;
/** Pause after an exceeded rate if the answer names none. */
const LIMIT_SECS = 60;

/** Names of public servers in sentences; others are named by their hosts. */
const TITLES: Readonly<Record<string, string>> = {
  "github.com": "GitHub",
  "gitlab.com": "GitLab",
};

/** The server in sentences. */
export function nameOfServer(url: string): string {
  const host = URL.parse(url)?.host ?? "an address that is not a URL";
  return TITLES[host] ?? host;
}

/** A failure that another try would not change, and that has changed nothing. */
export function refused(reason: string): GitFailure {
  return { result: "refused", reason, mayHaveArrived: false };
}

/** No answer, or one that was not git's protocol; an `AppError` says what the server did. */
export function failureOf(error: unknown, mayHaveArrived: boolean, host?: string): GitFailure {
  if (isUnanswered(error)) {
    const { message } = error;
    return {
      result: "later",
      reason: message,
      mayHaveArrived: mayHaveArrived && error.mayHaveArrived,
    };
  }
  const said = error instanceof AppError ? error.message : `cannot be reached: ${messageOf(error)}`;
  return { result: "later", reason: `${host} ${plainOutput(said, 300)}`, mayHaveArrived };
}

function isUnanswered(error: unknown): error is Unanswered {
  return typeof error === "object" && error !== null && "answered" in error;
}

/** The failure that a status stands for; `undefined` for 200. */
export async function failureOfStatus(
  response: Response,
  { host, needs, now }: {
    readonly host: string;
    /** See `GitRemote.needs`; the server may name something else. */
    readonly needs: string;
    readonly now: number;
  },
): Promise<GitFailure | undefined> {
  const { status, headers } = response;
  if (status === 200) return undefined;
  const said = await saidIn(response);
  const quoted = said === "" ? "" : ` (${said})`;
  const pause = status === 403 || status === 429 || status === 503
    ? askedPause(headers, now)
    : undefined;
  if (pause !== undefined || status === 429) {
    const afterSecs = pause ?? LIMIT_SECS;
    const reason = `${host} asks for a pause of ${afterSecs} s${quoted}`;
    return { result: "later", reason, mayHaveArrived: false, afterSecs };
  }
  if (status >= 500) {
    const reason = `${host} answered with status ${status}${quoted}`;
    return { result: "later", reason, mayHaveArrived: false, ...defined({ afterSecs: pause }) };
  }
  return refused(`${host} ${meaningOf(status, headers, needs)}${quoted}`);
}

function meaningOf(status: number, headers: Headers, usual: string): string {
  const right = headers.get("x-accepted-github-permissions");
  const needs = `the token needs ${
    right === null ? usual : `the permission ${plainOutput(right, 100)}`
  }`;
  if (status === 401) return "refuses the token: it is wrong, has expired or was revoked";
  if (status === 403) return `does not allow the push: ${needs}`;
  if (status === 404) {
    return `has no such repository for this token: it does not exist, was renamed, or ${needs}`;
  }
  if (status === 413) return "refuses the push as too large";
  if ([301, 302, 303, 307, 308].includes(status)) {
    return "says that the repository has moved: it was renamed or transferred, write its new name";
  }
  return `refused with status ${status}`;
}

/** What a refusal says in plain text; a page for browsers says nothing here. */
async function saidIn({ headers, body }: Response): Promise<string> {
  const isText = (headers.get("content-type") ?? "").startsWith("text/plain");
  if (body === null || !isText) return "";
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of body) { // leaving the loop cancels the rest
    text += decoder.decode(chunk, { stream: true });
    if (text.length > MAX_PAGE) break;
  }
  return plainOutput(text, 300);
}
