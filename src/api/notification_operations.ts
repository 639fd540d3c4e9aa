/**
 * The operations on Notifications.
 *
 * @module
 */

import { defineOperation, json, PROJECT, TEXT } from "./operation.ts";

/** A message that was made to try a target. */
export interface TestMessage {
  /** The target: `webhook`, `slack` or `email`, with its number where there are several. */
  readonly target: string;
  /** Id in the outbox. */
  readonly outbox_id: string;
}

/** The operations on Notifications, by name. */
export const NOTIFICATION_OPERATIONS = {
  "notification.test": defineOperation({
    summary: "Puts a message to each target of a Notification into the outbox",
    input: { name: TEXT, project: PROJECT },
    output: json<{ readonly messages: readonly TestMessage[] }>(),
    role: "operator",
  }),
};
