/**
 * Lists of chat events and bindings, by the index that has the rows of a query in order.
 *
 * @module
 */

import type {
  Binding,
  BindingQuery,
  SourceEvent,
  SourceEventQuery,
} from "../../source_event_records.ts";
import { bindingConditions, toBinding } from "../../sql/bindings.ts";
import { ordered, where } from "../../sql/queries.ts";
import { EVENT_COLUMNS, eventConditions, toSourceEvent } from "../../sql/source_events.ts";
import type { Database } from "../engine/database.ts";
import { ofEachProject } from "../engine/newest.ts";

/** Events, in the order of the list. */
export function listSourceEvents(db: Database, query: SourceEventQuery): SourceEvent[] {
  if (query.project === undefined && query.trigger !== undefined) {
    return ofEachProject(db, "source_events", query, listSourceEvents);
  }
  const { clause, values } = where(eventConditions(query));
  return db.all(
    `SELECT ${EVENT_COLUMNS} FROM source_events ${indexOfEvents(query)} ${clause} ${ordered(query)}
     LIMIT ?`,
    ...values,
    query.limit,
  ).map(toSourceEvent);
}

/** The rare states have few enough rows to read them all. */
function indexOfEvents({ project, trigger, state }: SourceEventQuery): string {
  if (state !== undefined && state !== "routed" && state !== "ignored") {
    return "INDEXED BY source_events_by_state";
  }
  if (trigger !== undefined) return "INDEXED BY source_events_of_trigger";
  if (state !== undefined) return "INDEXED BY source_events_by_state";
  return project === undefined ? "" : "INDEXED BY source_events_of_project";
}

/** Bindings, in the order of the list. */
export function listBindings(db: Database, query: BindingQuery): Binding[] {
  const { project, trigger } = query;
  if (project === undefined && trigger !== undefined) {
    return ofEachProject(db, "bindings", query, listBindings);
  }
  const { clause, values } = where(bindingConditions(query));
  const index = trigger !== undefined
    ? "INDEXED BY bindings_of_trigger"
    : project === undefined
    ? ""
    : "INDEXED BY bindings_of_project";
  return db.all(
    `SELECT * FROM bindings ${index} ${clause} ${ordered(query)} LIMIT ?`,
    ...values,
    query.limit,
  ).map(toBinding);
}
