/**
 * Normalises a Slack request to terms of every chat platform: actor, conversation, thread, text, and
 * the reason if it is ignored. Pure; the raw body stays in the store.
 *
 * ```ts
 * import { normalise, type SlackEvent } from "./normalise.ts";
 * import { strictEqual as equal } from "node:assert/strict";
 *
 * const event = { type: "message", user: "U1", channel: "C1", ts: "1700000000.000100", text: "hi" };
 * const found: SlackEvent = normalise({ type: "event_callback", event_id: "Ev1", event }, 0);
 * equal(`${found.kind} of ${found.actor} in ${found.conversationId}: ${found.text}`, "message of U1 in C1: hi");
 * ```
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { SourceEventFacts } from "../../store/source_event_records.ts";
import { arrayOf, cut, idOf, nameOf, objectOf, textOf, timeOf } from "./fields.ts";
import { fromInteraction, isInteraction } from "./interaction.ts";

/** A Slack request, normalised. */
export interface SlackEvent extends
  Pick<
    SourceEventFacts,
    | "installationId"
    | "kind"
    | "actor"
    | "conversationId"
    | "threadId"
    | "postId"
    | "topLevel"
    | "text"
    | "occurredAt"
  > {
  /** Slack's id of the event, if it has one. */
  readonly externalId?: string;
  /** Why the event is ignored; absent if it may start a task. */
  readonly ignored?: string;
  /** Whether a person mentions the app. */
  readonly isMention: boolean;
}

/** Message subtypes written by people; all others come from Slack itself. */
const WRITTEN_BY_PEOPLE = ["file_share", "thread_broadcast", "me_message"];

/** Normalises a request; `receivedAt` (ms) is the time of an event for which Slack names none. */
export function normalise(payload: JsonObject, receivedAt: number): SlackEvent {
  const base = {
    installationId: installationOf(payload),
    occurredAt: receivedAt,
    isMention: false,
    actor: "",
    conversationId: "",
    threadId: "",
    postId: "",
    topLevel: false,
  };
  const type = textOf(payload["type"]);
  if (type === "event_callback") return fromCallback(payload, receivedAt);
  if (textOf(payload["command"]) !== "") return { ...base, ...fromCommand(payload) };
  if (isInteraction(payload)) return { ...base, ...fromInteraction(payload) };
  const ignored = type === "app_rate_limited"
    ? "Slack limits the rate of events for this app"
    : `unknown request type "${cut(type, 80)}"`;
  return { ...base, kind: "system", text: cut(type), ignored };
}

function fromCallback(payload: JsonObject, receivedAt: number): SlackEvent {
  const event = objectOf(payload["event"]);
  const type = textOf(event["type"]);
  const thread = idOf(event["thread_ts"]);
  const post = idOf(event["ts"]);
  const isPost = type === "message" || type === "app_mention";
  const isReaction = type === "reaction_added" || type === "reaction_removed";
  const ignored = whyIgnored(payload, event);
  const externalId = idOf(payload["event_id"]);
  return {
    installationId: installationOf(payload),
    kind: isPost ? "message" : isReaction ? "reaction" : "system",
    actor: actorOf(event),
    conversationId: conversationOf(event),
    threadId: isPost ? thread || post : isReaction ? idOf(objectOf(event["item"])["ts"]) : "",
    postId: isPost ? post : "",
    topLevel: isPost && (thread === "" || thread === post),
    text: cut(isPost ? textOf(event["text"]) : isReaction ? textOf(event["reaction"]) : type),
    occurredAt: timeOf(event["event_ts"]) ?? timeOf(event["ts"]) ??
      timeOf(payload["event_time"]) ?? receivedAt,
    isMention: type === "app_mention",
    ...defined({ externalId: externalId === "" ? undefined : externalId, ignored }),
  };
}

/** The id of the person or bot that acted, which events name in several ways. */
function actorOf(event: JsonObject): string {
  return nameOf(event["user"]) || idOf(event["user_id"]) || idOf(event["bot_id"]) ||
    idOf(objectOf(event["assistant_thread"])["user_id"]) ||
    idOf(objectOf(event["channel"])["creator"]);
}

function conversationOf(event: JsonObject): string {
  return nameOf(event["channel"]) || idOf(event["channel_id"]) ||
    idOf(objectOf(event["item"])["channel"]) ||
    idOf(objectOf(event["assistant_thread"])["channel_id"]);
}

/** Why an event is ignored: edits, deletions, joins, and posts of bots or of the app itself. */
function whyIgnored(payload: JsonObject, event: JsonObject): string | undefined {
  const user = nameOf(event["user"]);
  const own = arrayOf(payload["authorizations"]).some((bot) =>
    isJsonObject(bot) && bot["is_bot"] === true && idOf(bot["user_id"]) === user && user !== ""
  );
  if (own) return "done by the app itself";
  const isPost = event["type"] === "message" || event["type"] === "app_mention";
  if (!isPost) return undefined;
  const subtype = textOf(event["subtype"]);
  if (subtype === "bot_message" || textOf(event["bot_id"]) !== "") return "written by a bot";
  if (subtype === "message_changed") return "an edit";
  if (subtype === "message_deleted") return "a deletion";
  if (subtype !== "" && !WRITTEN_BY_PEOPLE.includes(subtype)) {
    return `not written by a person: ${cut(subtype, 80)}`;
  }
  return event["hidden"] === true ? "hidden" : undefined;
}

function fromCommand(payload: JsonObject) {
  return {
    kind: "command",
    actor: idOf(payload["user_id"]),
    conversationId: idOf(payload["channel_id"]),
    text: cut(`${textOf(payload["command"])} ${textOf(payload["text"])}`.trim()),
  } as const;
}

/** `APP/TEAM`; `APP/ENTERPRISE` for an installation in a whole enterprise. */
function installationOf(payload: JsonObject): string {
  const team = idOf(payload["team_id"]) || nameOf(payload["team"]) ||
    idOf(objectOf(payload["user"])["team_id"]) || idOf(payload["enterprise_id"]) ||
    nameOf(payload["enterprise"]);
  return `${idOf(payload["api_app_id"])}/${team}`;
}
