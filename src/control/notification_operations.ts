/**
 * The handlers of the operations on Notifications.
 *
 * @module
 */

import type { Input, Output } from "../api/operations.ts";
import type { NOTIFICATION_OPERATIONS } from "../api/notification_operations.ts";
import type { Clock } from "../base/clock.ts";
import { draftsTo } from "../notifications/drafts.ts";
import { findNotification } from "../notifications/notifier.ts";
import type { Notice } from "../notifications/notice.ts";
import type { Outbox } from "../outbox/outbox.ts";
import type { Catalog } from "../resources/catalog.ts";
import { kindOfTarget } from "../resources/notification.ts";
import { DEFAULT_PROJECT } from "../resources/resource.ts";
import type { Handlers } from "./server/server.ts";

/** The Notifications of a daemon, and the outbox that sends their messages. */
interface NotificationsHost {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly outbox: Outbox;
}

/** The handlers, by name of the operation. */
export function notificationHandlers(
  host: NotificationsHost,
): Pick<Handlers, keyof typeof NOTIFICATION_OPERATIONS> {
  return { "notification.test": (input) => test(input, host) };
}

/**
 * Puts a message to each target into the outbox.
 *
 * @throws {AppError} `not_found`.
 */
async function test(
  { name, project = DEFAULT_PROJECT }: Input<"notification.test">,
  { catalog, clock, outbox }: NotificationsHost,
): Promise<Output<"notification.test">> {
  const notification = findNotification(project, name, catalog);
  const notice: Notice = {
    kind: "test",
    project,
    cause: "test",
    title: `A test of Notification ${name}`,
    text: "Nothing has happened: svc notification test has sent this",
    data: { test: true, notification: name },
    at: clock.now(),
  };
  const ids = await outbox.enqueue(draftsTo(notification, notice));
  const { to } = notification.spec;
  const messages = ids.map((outbox_id, index) => {
    const target = to[index];
    const kind = target === undefined ? "" : kindOfTarget(target);
    return { target: to.length === 1 ? kind : `${kind} ${index + 1}`, outbox_id };
  });
  return { messages };
}
