/**
 * The handlers of the operations on conversations.
 *
 * @module
 */

import type { CONVERSATION_OPERATIONS } from "../api/conversation_operations.ts";
import type { Input, Output } from "../api/operations.ts";
import type { Caller } from "../auth/caller.ts";
import { utf8 } from "../base/bytes.ts";
import type { Clock } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import type { NewId } from "../base/ids.ts";
import { findLike } from "../base/similar_names.ts";
import type { Catalog } from "../resources/catalog.ts";
import { conversationName } from "../resources/conversation.ts";
import type { Resource } from "../resources/resource.ts";
import type { TriggerSpec } from "../resources/trigger.ts";
import type { ConversationStore } from "../store/conversation_store.ts";
import { MAX_KEY_BYTES } from "../store/rules/conversation.ts";
import type { TaskStore } from "../store/task_store.ts";
import type { AuditLog } from "./records/audit_log.ts";
import { findTask } from "./records/records.ts";
import type { Handlers } from "./server/server.ts";

/** The parts of a daemon that conversations need. */
interface ConversationHost extends AuditLog {
  readonly store: TaskStore & Pick<ConversationStore, "bindConversation">;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly newId: NewId;
}

/** The handlers, by name of the operation. */
export function conversationHandlers(
  host: ConversationHost,
): Pick<Handlers, keyof typeof CONVERSATION_OPERATIONS> {
  return { "conversation.bind": (input, caller) => bind(input, caller, host) };
}

/**
 * Lets a conversation go on with a task.
 *
 * @throws {AppError} `not_found` for a name that no trigger of the project of the task has; `usage` for a key
 * that no event can have; `conflict` for a task that cannot be bound to it.
 */
async function bind(
  { name, key: given, task: id }: Input<"conversation.bind">,
  caller: Caller,
  host: ConversationHost,
): Promise<Output<"conversation.bind">> {
  const { store, clock, newId } = host;
  const targets = [`task/${id}`];
  return await host.audited({ operation: "conversation.bind", targets, caller }, async () => {
    const { project } = await findTask(id, store);
    const key = given.toWellFormed();
    checkName(name, project, host.catalog);
    checkKey(key);
    const asked = { project, name, key, taskId: id };
    const bound = await store.bindConversation({ ...asked, id: newId(), now: clock.now() });
    return { id: bound.id, project, name, key, task_id: id, before: bound.before ?? null };
  });
}

function checkName(name: string, project: string, catalog: Catalog): void {
  const names = new Set(
    (catalog.list("Trigger", project) as Resource<TriggerSpec>[])
      .filter(({ spec }) => spec.conversation !== undefined).map(conversationName),
  );
  if (names.has(name)) return;
  const none = `No trigger in project "${project}" has `;
  if (names.size === 0) {
    throw new AppError(
      "not_found",
      `${none}a conversation, and the task is in that project: add spec.conversation to one`,
    );
  }
  const near = findLike(name, [...names]);
  throw new AppError(
    "not_found",
    `${none}a conversation "${name}"` +
      (near === undefined ? `: there are ${[...names].join(", ")}` : `, did you mean "${near}"?`),
  );
}

function checkKey(key: string): void {
  const { length } = utf8(key);
  if (length > 0 && length <= MAX_KEY_BYTES) return;
  throw new AppError(
    "usage",
    length === 0
      ? "The key is empty: give what conversation.key is for an event, such as acme/site#7"
      : `The key has ${length} bytes, and that of an event has ${MAX_KEY_BYTES} at most`,
  );
}
