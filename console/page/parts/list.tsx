/**
 * A screen with a list: heading, command, filters, actions on all matching records, and rows.
 *
 * @module
 */

import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import type { Refusal } from "../data/api.ts";
import { query } from "../route.ts";
import { Command } from "./command.tsx";
import { type FilterField, Filters } from "./filters.tsx";
import { narrow } from "./narrow.ts";
import { Problem } from "./problem.tsx";
import { Rows } from "./rows.tsx";
import type { Column } from "./table.tsx";

/** The records, filters, columns and texts of a list. */
export interface ListProps<Item> {
  /** The heading; absent if the list is below another heading. */
  readonly title?: string;
  /** The level of the heading, 1 if absent. */
  readonly level?: 1 | 2;
  /** The records that have arrived. */
  readonly records: {
    readonly items: readonly Item[];
    readonly loading: boolean;
    readonly error: Refusal | undefined;
    readonly more?: (() => void) | undefined;
  };
  readonly fields: readonly FilterField[];
  /** Filters of the closed section *More filters*. */
  readonly moreFields?: readonly FilterField[];
  /** Actions on all records that match the filters. */
  readonly actions?: ComponentChildren;
  /** The text of a list without rows. */
  readonly empty: ComponentChildren;
  /** The `svc` command for the same list. */
  readonly command: string;
  readonly columns: readonly Column<Item>[];
  readonly id: (item: Item) => string;
  /** The address of the screen of an item. */
  readonly to: (item: Item) => string;
  /** The label of the list for screen readers. */
  readonly label: string;
}

/** A list of records with its heading, filters, actions and command. */
export function List<Item>(props: ListProps<Item>) {
  const { title, level = 1, records: { items, loading, error, more }, fields, moreFields = [] } =
    props;
  const { actions, empty, command, columns, id, to, label } = props;
  const set = [...fields, ...moreFields].filter(({ name }) => query.value.has(name)).length;
  const isBeside = title !== undefined && !narrow.value; // the command, beside the heading
  const isRare = useOpened(moreFields.some(({ name }) => query.value.has(name)));
  const isSet = useOpened(set > 0);
  return (
    <>
      <div class="list-head">
        {title !== undefined && (level === 1 ? <h1>{title}</h1> : <h2>{title}</h2>)}
        {isBeside && <Command line={command} />}
        <details class="list-tools" open={!narrow.value || isSet}>
          <summary>
            Filters
            {set > 0 && <span class="count">{set}</span>}
          </summary>
          <div>
            <Filters fields={fields} />
            {moreFields.length > 0 && (
              <details class="more-filters" open={isRare}>
                <summary>More filters</summary>
                <Filters fields={moreFields} />
              </details>
            )}
            {actions}
            {!isBeside && <Command line={command} />}
          </div>
        </details>
      </div>
      {error !== undefined && <Problem error={error} />}
      {loading && error === undefined && <p class="empty">…</p>}
      {!loading && error === undefined && items.length === 0 && <p class="empty">{empty}</p>}
      {items.length > 0 && (
        <Rows label={label} items={items} columns={columns} id={id} to={to} more={more} />
      )}
    </>
  );
}

/**
 * Stays true once `isOpen` was true: a section that closed with its last filter would take the
 * focus with it.
 */
function useOpened(isOpen: boolean): boolean {
  const opened = useRef(isOpen);
  return opened.current ||= isOpen;
}
