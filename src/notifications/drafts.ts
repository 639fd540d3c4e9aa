/**
 * The messages of a Notification, one to each of its targets. The outbox looks up the address and the
 * secret of a target when it sends the message.
 *
 * @module
 */

import type { JsonObject } from "../base/json.ts";
import type { Draft } from "../outbox/message_kind.ts";
import type { NotificationSpec, NotificationTarget } from "../resources/notification.ts";
import type { Resource } from "../resources/resource.ts";
import { bodyOf, type Notice } from "./notice.ts";

/** The messages of a Notification about a notice. */
export function draftsTo(
  { project, name, spec }: Resource<NotificationSpec>,
  notice: Notice,
): readonly Draft[] {
  const body = bodyOf(notice);
  return spec.to.map((target, index) => {
    const to = { project, notification: name, number: index + 1 };
    return draftTo(target, to, body);
  });
}

function draftTo(
  { slack, email }: NotificationTarget,
  { project, notification, number }: {
    readonly project: string;
    readonly notification: string;
    /** The number of the target in the Notification, from 1. */
    readonly number: number;
  },
  body: JsonObject,
): Draft {
  const common = { project, key: "", taskId: "" };
  if (slack !== undefined) {
    const { connection, channel } = slack;
    const text = [body["title"], body["text"]].filter((line) => line !== "").join("\n");
    return {
      ...common,
      connection,
      kind: "slack-post",
      target: { trigger: "", channel, thread: "" },
      body: { text },
    };
  }
  const kind = email === undefined ? "webhook" : "email";
  return { ...common, connection: "", kind, target: { notification, to: number }, body };
}
