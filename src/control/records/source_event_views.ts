/**
 * Events of chat platforms and bound threads in answers.
 *
 * @module
 */

import type { BindingRecord, SourceEventRecord } from "../../api/records.ts";
import { AppError } from "../../base/errors.ts";
import { rfc3339 } from "../../base/clock.ts";
import { shortDuration } from "../../base/duration.ts";
import type { Column } from "../../resources/kind.ts";
import {
  type Binding,
  SOURCE_EVENT_STATES,
  type SourceEvent,
  type SourceEventQuery,
} from "../../store/source_event_records.ts";
import type { SourceEventStore, ThreadStore } from "../../store/source_event_store.ts";
import type { RecordQuery, RecordType } from "./record_type.ts";
import { projectColumn } from "./views.ts";

/**
 * A query for events.
 *
 * @throws {AppError} `usage` for a state that events do not have.
 */
function toEventQuery({ state, ...query }: RecordQuery): SourceEventQuery {
  if (state === undefined) return query;
  const found = SOURCE_EVENT_STATES.find((known) => known === state);
  if (found !== undefined) return { ...query, state: found };
  throw new AppError(
    "usage",
    `Unknown state "${state}": use one of ${SOURCE_EVENT_STATES.join(", ")}`,
  );
}

/** Events of chat platforms, for `svc get`. */
export const SOURCE_EVENTS: RecordType<SourceEvent, "source-event", SourceEventStore> = {
  name: "source-event",
  list: (store, query) => store.listSourceEvents(toEventQuery(query)),
  find: (store, prefix) => store.findSourceEvents(prefix),
  id: (event) => event.id,
  view: sourceEventView,
  columns: sourceEventColumns,
  filters: ["trigger", "state", "before", "after", "until", "thread"],
  searched: ["thread"],
  open: {
    isOpen: ({ state }) => state === "received" || state === "routing",
    states: ["routing", "received"],
  },
};

/** Bound threads, for `svc get`. */
export const BINDINGS: RecordType<Binding, "binding", ThreadStore> = {
  name: "binding",
  list: (store, query) => store.listBindings(query),
  find: (store, prefix) => store.findBindings(prefix),
  id: (binding) => binding.id,
  view: bindingView,
  columns: bindingColumns,
  filters: ["trigger", "before", "after", "until"],
};

/** An event as JSON. */
function sourceEventView(event: SourceEvent): SourceEventRecord {
  return {
    id: event.id,
    project: event.project,
    trigger: event.trigger,
    provider: event.provider,
    installation_id: event.installationId,
    external_event_id: event.externalEventId,
    kind: event.kind,
    actor: event.actor,
    conversation_id: event.conversationId,
    thread_id: event.threadId,
    top_level: event.topLevel,
    text: event.text,
    occurred_at: rfc3339(event.occurredAt),
    received_at: rfc3339(event.receivedAt),
    state: event.state,
    reason: event.reason,
    task_id: event.taskId || null,
    delivery_id: event.deliveryId,
    attempts: event.attempts,
  };
}

/** Longest text in a table. */
const SHOWN_TEXT = 40;

/** Columns of `svc get source-events`. */
function sourceEventColumns(now: number): Column<SourceEvent>[] {
  return [
    { header: "ID", fit: "id", cell: (event) => event.id },
    { header: "TRIGGER", fit: "name", cell: (event) => event.trigger },
    { header: "KIND", secondary: true, cell: (event) => event.kind },
    { header: "STATE", cell: (event) => event.state },
    { header: "TASK", fit: "id", cell: (event) => event.taskId },
    { header: "AGE", cell: (event) => shortDuration(now - event.receivedAt) },
    projectColumn((event) => event.project),
    { header: "TEXT", fit: "text", cell: (event) => shorten(event.text) },
    { header: "REASON", fit: "text", wide: true, cell: (event) => event.reason },
    { header: "ACTOR", wide: true, cell: (event) => event.actor },
    { header: "CONVERSATION", fit: "name", wide: true, cell: (event) => event.conversationId },
    { header: "THREAD", fit: "name", wide: true, cell: (event) => event.threadId },
  ];
}

function shorten(text: string): string {
  const line = text.replaceAll(/\s+/g, " ");
  return line.length <= SHOWN_TEXT ? line : `${line.slice(0, SHOWN_TEXT - 1)}…`;
}

/** A bound thread as JSON. */
function bindingView(binding: Binding): BindingRecord {
  return {
    id: binding.id,
    project: binding.project,
    trigger: binding.trigger,
    installation_id: binding.installationId,
    conversation_id: binding.conversationId,
    thread_id: binding.threadId,
    task_id: binding.taskId,
    created_at: rfc3339(binding.createdAt),
    updated_at: rfc3339(binding.updatedAt),
  };
}

/** Columns of `svc get bindings`. */
function bindingColumns(now: number): Column<Binding>[] {
  return [
    { header: "ID", fit: "id", cell: (binding) => binding.id },
    { header: "TRIGGER", fit: "name", cell: (binding) => binding.trigger },
    { header: "CONVERSATION", fit: "name", cell: (binding) => binding.conversationId },
    { header: "THREAD", fit: "name", cell: (binding) => binding.threadId },
    { header: "TASK", fit: "id", cell: (binding) => binding.taskId },
    { header: "AGE", cell: (binding) => shortDuration(now - binding.createdAt) },
    projectColumn((binding) => binding.project),
    { header: "INSTALLATION", wide: true, cell: (binding) => binding.installationId },
  ];
}
