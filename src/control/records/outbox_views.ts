/**
 * Messages of the outbox in answers.
 *
 * @module
 */

import { rfc3339 } from "../../base/clock.ts";
import { shortDuration } from "../../base/duration.ts";
import { AppError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import type { Column } from "../../resources/kind.ts";
import {
  MESSAGE_STATES,
  type MessageQuery,
  type OutboxMessage,
} from "../../store/outbox_records.ts";
import type { OutboxStore } from "../../store/outbox_store.ts";
import { heldUntil } from "../../store/rules/outbox.ts";
import type { RecordQuery, RecordType } from "./record_type.ts";
import { projectColumn } from "./views.ts";

/** Messages of the outbox, for `svc get`. */
export const MESSAGES: RecordType<OutboxMessage, "outbox", OutboxStore> = {
  name: "outbox",
  list: (store, query) => store.listMessages(toMessageQuery(query)),
  find: (store, prefix) => store.findMessages(prefix),
  id: (message) => message.id,
  view: messageView,
  columns: messageColumns,
  filters: ["trigger", "state", "before", "after", "until", "task"],
  searched: ["trigger", "task"],
  open: {
    isOpen: ({ state }) => state === "pending" || state === "held",
    states: ["held", "pending"],
  },
};

/**
 * A query for messages.
 *
 * @throws {AppError} `usage` for a state that messages do not have.
 */
function toMessageQuery(
  { state, task, outcome: _none, workflow: _nor, ...others }: RecordQuery,
): MessageQuery {
  const query = task === undefined ? others : { ...others, taskId: task };
  if (state === undefined) return query;
  const found = MESSAGE_STATES.find((known) => known === state);
  if (found !== undefined) return { ...query, state: found };
  throw new AppError("usage", `Unknown state "${state}": use one of ${MESSAGE_STATES.join(", ")}`);
}

/** A message as JSON. */
export function messageView(message: OutboxMessage): Record<string, unknown> {
  const at = (ms: number | undefined) => ms === undefined ? null : rfc3339(ms);
  return {
    id: message.id,
    project: message.project,
    connection: message.connection || null,
    kind: message.kind,
    target: message.target,
    key: message.key,
    body: message.body,
    task_id: message.taskId || null,
    state: message.state,
    tries: message.tries,
    held_until: message.state === "held" ? at(heldUntil(message)) : null,
    next_at: message.state === "pending" && message.nextAt > 0 ? at(message.nextAt) : null,
    uncertain_since: at(message.uncertainSince),
    external_id: message.externalId || null,
    reason: message.reason,
    created_at: at(message.createdAt),
    updated_at: at(message.updatedAt),
  };
}

/** Columns of `svc get outbox`. */
function messageColumns(now: number): Column<OutboxMessage>[] {
  return [
    { header: "ID", fit: "id", cell: (message) => message.id },
    { header: "KIND", cell: (message) => message.kind },
    { header: "STATE", cell: (message) => message.state },
    { header: "TRIES", secondary: true, cell: (message) => String(message.tries) },
    { header: "TARGET", fit: "text", cell: describePlace },
    { header: "AGE", cell: (message) => shortDuration(now - message.createdAt) },
    projectColumn((message) => message.project),
    { header: "REASON", fit: "text", cell: (message) => message.reason },
    { header: "KEY", fit: "name", wide: true, cell: (message) => message.key },
    { header: "CONNECTION", fit: "name", wide: true, cell: (message) => message.connection },
    { header: "TASK", fit: "id", wide: true, cell: (message) => message.taskId },
  ];
}

/** Where a message goes, and what it changes there: `o/r#12, 3 files, +41 −7`. */
function describePlace({ target, body: { files, added, removed } }: OutboxMessage): string {
  if (typeof files !== "number") return describeTarget(target);
  const what = files === 1 ? "1 file" : `${files} files`;
  return `${describeTarget(target)}, ${what}, +${added} −${removed}`;
}

/** A target in a few words, such as `o/r#12`, made of its values. */
function describeTarget(target: JsonObject): string {
  const { notification, to } = target;
  if (typeof notification === "string") return `notification/${notification}, target ${to}`;
  const { repository, number, ...rest } = target;
  const others = Object.values(rest).filter((value) => value !== "").map((value) =>
    typeof value === "object" ? JSON.stringify(value) : String(value)
  );
  if (typeof repository !== "string") return others.join(" ");
  return [number === undefined ? repository : `${repository}#${number}`, ...others].join(" ");
}
