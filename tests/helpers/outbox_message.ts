/**
 * A message of the outbox for tests that read or send one, without a store.
 *
 * @module
 */

import type { OutboxMessage } from "../../src/store/outbox_records.ts";

/** A message with these fields, of the project `default`, of no task, and tried once. */
export function outboxMessage(
  given: Pick<OutboxMessage, "id" | "kind" | "target" | "body" | "state">,
): OutboxMessage {
  return {
    project: "default",
    connection: "",
    taskId: "",
    key: "",
    tries: 1,
    nextAt: 0,
    externalId: "",
    reason: "",
    createdAt: 0,
    updatedAt: 0,
    ...given,
  };
}
