/**
 * Writes the rows of a table that moves here, and reads them back, both in the binary form of `COPY`:
 * a value is the same bytes on both ways, so the sums of both say whether the rows are the same.
 *
 * @module
 */

import type { MovedTable } from "../../sql/moving/moved_table.ts";
import type { RowSums } from "../../sql/moving/row_sums.ts";
import type { Rows } from "../../sql/moving/target_rows.ts";
import type { KeptConnection } from "../database/connections.ts";
import { HEADER, isEnd, RowPage } from "./row_page.ts";

type NamedTable = readonly [string, MovedTable];

const columnsIn = ({ columns }: MovedTable) =>
  Object.keys(columns).map((name) => `"${name}"`).join(", ");

/** Adds rows in their order, and adds them up; yields their number now and then. */
export async function* writeRows(
  kept: KeptConnection,
  [name, table]: NamedTable,
  { rows, sums }: { readonly rows: Rows; readonly sums: RowSums },
): AsyncGenerator<number, void, undefined> {
  await using copy = await kept.copyIn(
    `COPY ${name} (${columnsIn(table)}) FROM STDIN (FORMAT binary)`,
  );
  await copy.send(HEADER);
  const page = new RowPage(table.columns);
  let written = 0;
  for await (const row of rows) {
    sums.add(page.add(row));
    written++;
    if (!page.isFull) continue;
    await copy.send(page.bytes);
    page.clear();
    yield written;
  }
  await copy.send(page.bytes);
  await copy.end();
  if (written > 0) yield written;
}

/** Rows between two reports of those that were read. */
const REPORTED = 1000;

/** Reads every row of a table back, in any order, and adds them up; yields their number now and then. */
export async function* readRows(
  kept: KeptConnection,
  [name, table]: NamedTable,
  sums: RowSums,
): AsyncGenerator<number, void, undefined> {
  let left = HEADER.length;
  let read = 0;
  let told = 0;
  const copying = kept.copyOut(
    `COPY ${name} (${columnsIn(table)}) TO STDOUT (FORMAT binary)`,
    (bytes) => {
      const row = bytes.subarray(left);
      left = 0;
      if (isEnd(row)) return;
      sums.add(row);
      read++;
    },
  );
  for await (const _ of copying) {
    if (read - told >= REPORTED) yield told = read;
  }
  if (read > told) yield read;
}
