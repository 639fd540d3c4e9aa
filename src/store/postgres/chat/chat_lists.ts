/**
 * Lists of chat events and bindings.
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
import { type Conditions, ordered, where } from "../../sql/queries.ts";
import type { Row } from "../../sql/row.ts";
import { EVENT_COLUMNS, eventConditions, toSourceEvent } from "../../sql/source_events.ts";
import type { Session } from "../database/connections.ts";
import { listed, newestIds } from "../database/newest.ts";

/** Events, in the order of the list. */
export async function listSourceEvents(
  db: Session,
  query: SourceEventQuery,
): Promise<SourceEvent[]> {
  const conditions = (id?: string) => eventConditions(query, id);
  const from = { table: "source_events", columns: EVENT_COLUMNS, conditions } as const;
  return (await list(db, from, query)).map(toSourceEvent);
}

/** Bindings, in the order of the list. */
export async function listBindings(db: Session, query: BindingQuery): Promise<Binding[]> {
  const conditions = (id?: string) => bindingConditions(query, id);
  return (await list(db, { table: "bindings", columns: "*", conditions }, query)).map(toBinding);
}

/** The table of a list. */
interface ListTable {
  readonly table: "source_events" | "bindings";
  readonly columns: string;
  /** The conditions, with the id written as given. */
  readonly conditions: (id?: string) => Conditions;
}

/** The newest rows are found by an index, unless the query names the ids or has no trigger. */
function list(
  db: Session,
  { table, columns, conditions }: ListTable,
  query: SourceEventQuery | BindingQuery,
): Promise<Row[]> {
  if (query.ids !== undefined || (query.project ?? query.trigger) === undefined) {
    const { clause, values } = where(conditions());
    const select = `SELECT ${columns} FROM ${table} ${clause} ${ordered(query)} LIMIT ?`;
    return db.all(select, ...values, query.limit);
  }
  const { sql, values } = newestIds({ table, conditions: conditions(listed("id")) }, query);
  return db.all(
    `SELECT ${columns} FROM ${table} WHERE id IN (${sql}) ${ordered(query)}`,
    ...values,
  );
}
