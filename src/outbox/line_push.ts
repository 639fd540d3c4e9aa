/**
 * The kind `line-push`: a text to the user, group or room that a task's event came from. LINE takes
 * each retry key once, so sending it again within a day does no harm.
 *
 * @module
 */

import { sha256Hex } from "../base/bytes.ts";
import { defined } from "../base/defined.ts";
import { AppError } from "../base/errors.ts";
import { isJsonObject } from "../base/json.ts";
import { type Connection, findConnection, readToken } from "../connections/find_connection.ts";
import { pushText } from "../connections/line/push_text.ts";
import type { Catalog } from "../resources/catalog.ts";
import { apiUrlOf, type ConnectionSpec } from "../resources/connection.ts";
import type { TriggerSpec } from "../resources/trigger.ts";
import type { StoredDelivery } from "../store/delivery_records.ts";
import type { ClaimedMessage, OutboxMessage } from "../store/outbox_records.ts";
import type { Task } from "../store/task_records.ts";
import {
  type Draft,
  type MessageKind,
  notPosted,
  resultOfError,
  type SendHost,
  type SendResult,
} from "./message_kind.ts";
import { findOrigin, type OriginStore } from "./origin.ts";

/** How long LINE remembers a retry key. */
const KEY_LASTS_MS = 24 * 3600_000;
/** Most characters of a text that are stored: more than a push can have. */
const MAX_STORED = 32 * 1024;

export const linePush: MessageKind = {
  name: "line-push",
  again: "harmless",
  way: (message, catalog) => findAccess(message, catalog).connection.name,
  send,
};

/** The Connection of a push and its token at present. */
function findAccess(
  { project, connection: name }: OutboxMessage,
  catalog: Catalog,
): { readonly connection: Connection; readonly token: string } {
  const connection = catalog.find<ConnectionSpec>("Connection", project, name);
  const line = connection?.spec.line;
  if (connection !== undefined && line !== undefined) {
    return { connection, token: readToken(connection, line.channelAccessToken, catalog) };
  }
  const message = `Connection "${name}" to LINE in project "${project}" no longer exists`;
  throw new AppError("refused", `${message}: make it with svc connect line`);
}

async function send(
  { message, uncertainSince }: ClaimedMessage,
  { catalog, clock, signal }: SendHost,
): Promise<SendResult> {
  if (uncertainSince !== undefined && clock.now() - uncertainSince > KEY_LASTS_MS) {
    const reason =
      "it may have arrived more than a day ago, and LINE no longer knows: look there, and send " +
      "it again if it is missing";
    return { result: "refused", reason, mayHaveArrived: true };
  }
  try {
    const { connection, token } = findAccess(message, catalog);
    const result = await pushText(
      {
        to: String(message.target["to"]),
        text: String(message.body["text"]),
        retryKey: retryKeyOf(message.id),
      },
      { api: apiUrlOf(connection.spec), token, clock, signal },
    );
    return result.pushed ? { result: "sent", externalId: result.id } : notPosted(result);
  } catch (error) {
    return resultOfError(error);
  }
}

/** A UUID, the same for every try of a message. */
function retryKeyOf(id: string): string {
  const hex = sha256Hex(`line-push ${id}`);
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
  ];
  return [...parts, hex.slice(20, 32)].join("-");
}

/**
 * A text for the conversation that a task came from.
 *
 * @throws {AppError} `refused` if it came from none, or there is no Connection to LINE; `invalid`.
 */
export async function pushDraft(
  task: Task,
  text: string,
  { catalog, store }: { readonly catalog: Catalog; readonly store: OriginStore },
): Promise<Draft> {
  if (text.trim() === "") {
    throw new AppError("invalid", "The text is empty, so there is nothing to push");
  }
  const origin = await findOrigin(task, conversationOf, store);
  if (origin === undefined) {
    const message = `Task ${task.id} did not come from a conversation at LINE`;
    throw new AppError("refused", `${message}, so svc cannot push to one`);
  }
  const { project, trigger } = origin.task;
  const { webhook } = catalog.find<TriggerSpec>("Trigger", project, trigger)?.spec.event ?? {};
  const named = webhook?.connection;
  const { name } = findConnection({ project, platform: "line", ...defined({ named }) }, catalog);
  return {
    project,
    connection: name,
    kind: linePush.name,
    target: { to: origin.found },
    key: "",
    body: { text: text.slice(0, MAX_STORED) },
    taskId: task.id,
  };
}

/** Ids of users, groups and rooms. */
const ID = /^[UCR][0-9a-f]{32}$/;

/** The group, room or user of the event that started a task. */
function conversationOf(
  payload: unknown,
  { delivery }: StoredDelivery,
  task: Task,
): string | undefined {
  const events = isJsonObject(payload) ? payload["events"] : undefined;
  if (!Array.isArray(events)) return undefined;
  const at = delivery.detail.events?.findIndex(({ taskId }) => taskId === task.id) ?? 0;
  const event: unknown = events[at];
  const source = isJsonObject(event) ? event["source"] : undefined;
  if (!isJsonObject(source)) return undefined;
  const to = source["groupId"] ?? source["roomId"] ?? source["userId"];
  return typeof to === "string" && ID.test(to) ? to : undefined;
}
