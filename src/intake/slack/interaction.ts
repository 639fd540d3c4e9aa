/**
 * Slack's interactivity: clicks, choices, views and shortcuts. Describes what a person did, and tells
 * requests that only ask for the options of a menu.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { arrayOf, cut, idOf, nameOf, objectOf, textOf } from "./fields.ts";

/** Requests for the options of a menu, which Slack sends at every key that a person types. */
const ASKS_FOR_CHOICES = ["block_suggestion", "dialog_suggestion"];

/** Whether a payload comes from interactivity. */
export function isInteraction(payload: JsonObject): boolean {
  return isJsonObject(payload["user"]) || isJsonObject(payload["view"]);
}

/** Whether a payload asks for the options of a menu; such a request starts nothing. */
export function asksForChoices(payload: JsonObject): boolean {
  return isInteraction(payload) && ASKS_FOR_CHOICES.includes(textOf(payload["type"]));
}

/** An interaction in the form that events have, too. */
export interface Interaction {
  readonly kind: "interaction";
  readonly actor: string;
  /** Channel; empty for an interaction in a view. */
  readonly conversationId: string;
  /** Thread of the post; empty if there is none. */
  readonly threadId: string;
  /** The clicked, chosen or typed values, or the id of the view or shortcut. */
  readonly text: string;
  /** Why the interaction is ignored; absent if it may start a task. */
  readonly ignored?: string;
}

/** Reads the payload of an interaction. */
export function fromInteraction(payload: JsonObject): Interaction {
  const container = objectOf(payload["container"]);
  const message = { ...objectOf(payload["original_message"]), ...objectOf(payload["message"]) };
  const text = arrayOf(payload["actions"]).filter(isJsonObject).map(actionText).join(" ") ||
    textOf(objectOf(payload["view"])["callback_id"]) || textOf(payload["callback_id"]);
  return {
    kind: "interaction",
    actor: nameOf(payload["user"]),
    conversationId: nameOf(payload["channel"]) || idOf(container["channel_id"]),
    threadId: idOf(message["thread_ts"]) || idOf(container["thread_ts"]) || idOf(message["ts"]) ||
      idOf(container["message_ts"]) || idOf(payload["message_ts"]),
    text: cut(text),
    ...defined({
      ignored: asksForChoices(payload) ? "asks for the choices of a menu" : undefined,
    }),
  };
}

/** `name=value` with the clicked, chosen or typed value. */
function actionText(action: JsonObject): string {
  const name = textOf(action["action_id"]) || textOf(action["name"]);
  return [name, valueOf(action)].filter((part) => part !== "").join("=");
}

/** The fields of values: each type of element has its own. */
const CHOSEN = [
  "value",
  "selected_date",
  "selected_time",
  "selected_user",
  "selected_channel",
  "selected_conversation",
];
const CHOSEN_SEVERAL = ["selected_users", "selected_channels", "selected_conversations"];

function valueOf(action: JsonObject): string {
  const options = [action["selected_option"], ...arrayOf(action["selected_options"])];
  const several = CHOSEN_SEVERAL.flatMap((field) => arrayOf(action[field]));
  const dateTime = action["selected_date_time"];
  return [
    ...CHOSEN.map((field) => textOf(action[field])),
    ...options.map((option) => textOf(objectOf(option)["value"])),
    ...several.map(textOf),
    typeof dateTime === "number" ? String(dateTime) : "",
  ].filter((part) => part !== "").join(",");
}
