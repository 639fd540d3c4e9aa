/**
 * GitLab's log of the deliveries of a webhook, seven days of it. GitLab never sends a delivery again by
 * itself, and what comes while it has switched a webhook off is neither sent nor logged.
 *
 * @module
 */

import { isJsonObject, type JsonObject, objectIn, textIn } from "../../base/json.ts";
import { defined } from "../../base/defined.ts";
import type { ApiAccess } from "../api/api_call.ts";
import type { HookLog, LoggedRequest, LoggedTry, LogPage } from "../api/hooks.ts";
import type { RestFailure } from "../api/rest.ts";
import { timeOf } from "../api/rest_client.ts";
import { callGitLab } from "./gitlab_client.ts";

/** How long GitLab shows a delivery. */
const KEPT_MS = 7 * 24 * 3600 * 1000;
/** Entries that a page has at most. */
const PAGE = 20;
/** Most bytes of a page: each entry has the whole body of its request. */
const MAX_PAGE_BYTES = 64 * 1024 * 1024;
/**
 * How often svc waits for the end of a limit: GitLab sends five events again in a minute, for all
 * webhooks of a project together.
 */
const MAX_WAITS = 3;
/** Most characters of a text of the log. */
const MAX_TEXT = 200;

/** The log of the webhook at a path of the API. */
export function gitLabLog(access: ApiAccess, path: string, hook: number): HookLog {
  const { clock, signal } = access;
  /** Entries of the page that was read last, by id. */
  let entries = new Map<string, JsonObject>();
  return {
    title: "GitLab",
    hook,
    idHeader: "idempotency-key",
    keptMs: KEPT_MS,
    // Four deliveries in a row that fail, also of one event, switch the webhook off.
    mostResends: 1,
    pings: false,
    async readPage(page = `${path}/events?per_page=${PAGE}`) {
      const answer = await callGitLab(access, { path: page, maxBytes: MAX_PAGE_BYTES });
      if (!answer.ok) return answer;
      const { data, headers, next } = answer;
      const now = timeOf(headers);
      const items = Array.isArray(data) ? data.filter((item) => isJsonObject(item)) : [];
      entries = new Map(items.map((item) => [String(item["id"]), item]));
      return { tries: toTries(items, now ?? clock.now()), ...defined({ next, now }) } as LogPage;
    },
    read(id) {
      const entry = entries.get(id);
      return Promise.resolve(entry === undefined ? undefined : toRequest(entry));
    },
    async resend({ id }): Promise<"sent" | "gone" | RestFailure> {
      for (let waits = 0;; waits++) {
        const resend = `${path}/events/${id}/resend`;
        const answer = await callGitLab(access, { method: "POST", path: resend });
        if (answer.ok) return "sent";
        if (answer.kind === "limited" && waits < MAX_WAITS && signal?.aborted !== true) {
          await clock.pause((answer.retryAfterSecs ?? 60) * 1000, signal);
          continue;
        }
        if (answer.status === 404) return "gone";
        if (answer.status !== 422 || /hook disabled/i.test(answer.message)) return answer;
        // Else it was sent, and its try is in the log.
        return /url has changed/i.test(answer.message) ? "gone" : "sent";
      }
    },
    // The log has the payload and not its bytes, without addresses of mail.
    isSignedWith: () => undefined,
  };
}

/** The entries of a page, newest first, that name their event. */
function toTries(items: readonly JsonObject[], now: number): LoggedTry[] {
  let newer = now;
  return items.flatMap((item) => {
    const headers = lowerCased(item["request_headers"]);
    const guid = headers["idempotency-key"] ?? "";
    const id = typeof item["id"] === "number" ? String(item["id"]) : "";
    // Earlier versions tell no time: then it is at most that of the entry before.
    const answered = lowerCased(item["response_headers"])["date"];
    const told = [timeIn(item["created_at"]), sentAt(headers), timeIn(answered)];
    const at = told.find((ms) => ms !== undefined);
    newer = Math.min(newer, at ?? newer);
    if (id === "" || guid === "" || guid.length > MAX_TEXT) return [];
    const { object_kind: kind, object_attributes: object } = objectIn(item["request_data"]);
    const { action, name } = objectIn(object);
    const said = textIn(item["response_status"]);
    const statusCode = /^[1-5][0-9]{2}$/.test(said) ? Number(said) : 0;
    return [{
      id,
      guid,
      at: at ?? newer,
      statusCode,
      status: statusCode === 0 ? "no answer" : said,
      event: textIn(item["trigger"]).replace(/_hooks$/, "").slice(0, MAX_TEXT),
      action: textIn(action).slice(0, MAX_TEXT),
      // Only a test has a token of this name.
      isPing: kind === "access_token" && name === TESTED_TOKEN,
    }];
  });
}

/** Name of the access token in GitLab's test of such an event. */
const TESTED_TOKEN = "pat_for_webhook_event";

function timeIn(text: unknown): number | undefined {
  const at = Date.parse(textIn(text));
  return Number.isNaN(at) ? undefined : at;
}

/** The time of a signed request. */
function sentAt(headers: Readonly<Record<string, string>>): number | undefined {
  const seconds = headers["webhook-timestamp"] ?? "";
  return /^[0-9]{9,11}$/.test(seconds) ? Number(seconds) * 1000 : undefined;
}

function toRequest(item: JsonObject): LoggedRequest {
  return {
    headers: lowerCased(item["request_headers"]),
    body: JSON.stringify(item["request_data"] ?? null),
    answer: textIn(item["response_body"]),
    answerHeaders: lowerCased(item["response_headers"]),
  };
}

function lowerCased(headers: unknown): Record<string, string> {
  return Object.fromEntries(
    Object.entries(objectIn(headers)).flatMap(([name, text]) =>
      typeof text === "string" ? [[name.toLowerCase(), text] as const] : []
    ),
  );
}
