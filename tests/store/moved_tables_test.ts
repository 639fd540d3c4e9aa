/**
 * The registry of `svc db move` has every column of both databases: a new one that nobody thought of
 * would be left behind.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects, throws } from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { isNumbered, type MovedTable } from "../../src/store/sql/moving/moved_table.ts";
import { MADE_TABLES, MOVED, MOVED_TABLES } from "../../src/store/sql/moving/moved_tables.ts";
import { rowSums } from "../../src/store/sql/moving/row_sums.ts";
import type { Row } from "../../src/store/sql/row.ts";
import { createDatabase } from "../../src/store/sqlite/create_database.ts";
import { Connections } from "../../src/store/postgres/database/connections.ts";
import { RowPage } from "../../src/store/postgres/moving/row_page.ts";
import { readRows, writeRows } from "../../src/store/postgres/moving/target_rows.ts";
import { createTestDatabase, postgresTest } from "../helpers/postgres.ts";
import { tempDir } from "../helpers/temp_dir.ts";

const newSums = await rowSums();

/** Columns with their types, by table. */
type Schema = ReadonlyMap<string, Readonly<Record<string, string>>>;

const byTable = (rows: readonly Record<string, unknown>[]): Schema =>
  new Map(
    [...Map.groupBy(rows, ({ name }) => String(name))].map(([name, columns]) => [
      name,
      Object.fromEntries(columns.map((row) => [String(row["column"]), String(row["type"])])),
    ]),
  );

async function schemaOfFile(): Promise<Schema> {
  await using temp = await tempDir();
  await createDatabase(`${temp.path}/svc.db`, []);
  using db = new DatabaseSync(`${temp.path}/svc.db`);
  return byTable(
    db.prepare(
      `SELECT tables.name, columns.name AS "column", columns.type FROM sqlite_schema AS tables,
         pragma_table_info(tables.name) AS columns
       WHERE tables.type = 'table' AND tables.name NOT LIKE 'sqlite_%'`,
    ).all(),
  );
}

const TYPES: Readonly<Record<string, string>> = {
  TEXT: "text",
  INTEGER: "int",
  REAL: "real",
  BLOB: "bytes",
  text: "text",
  bigint: "int",
  "double precision": "real",
  bytea: "bytes",
};

/** The columns of a schema that a table takes, with the types by which it takes them. */
const taken = ({ columns }: MovedTable, there: Readonly<Record<string, string>> = {}) =>
  Object.entries(columns).filter(([name]) => name in there).toSorted();

const typed = (columns: Readonly<Record<string, string>> = {}, except: readonly string[] = []) =>
  Object.entries(columns).filter(([name]) => !except.includes(name))
    .map(([name, type]) => [name, TYPES[type]]).toSorted();

Deno.test("a move takes every column of a file, or says that it is dropped", async () => {
  const schema = await schemaOfFile();
  deepEqual([...schema.keys()].toSorted(), Object.keys(MOVED_TABLES).toSorted());
  for (const [name, table] of MOVED) {
    const there = schema.get(name);
    deepEqual(taken(table, there), typed(there, table.dropped), name);
    for (const column of Object.keys(table.columns)) {
      deepEqual(column in (there ?? {}) || column in (table.from ?? {}), true, `${name}.${column}`);
    }
  }
});

/** Which node handles the end of a task now; none does after a move. */
const RESERVATION = ["node", "reserved_until"];

postgresTest("a move writes every column of PostgreSQL, by its type", async () => {
  await using database = await createTestDatabase();
  const owner = { node: "t", run: "t" };
  await using connections = new Connections({ url: database.url, owner, max: 1 });
  const columns = await connections.use((db) =>
    db.all(
      `SELECT table_name AS name, column_name AS column, data_type AS type, is_identity
       FROM information_schema.columns WHERE table_schema = 'svc' AND table_name <> 'about'`,
    )
  );
  const schema = byTable(columns);
  const made = new Set(Object.keys(MADE_TABLES));
  deepEqual(
    [...schema.keys()].filter((name) => !made.has(name)).toSorted(),
    Object.keys(MOVED_TABLES).filter((name) => name !== "plan_uses").toSorted(),
  );
  for (const [name, table] of MOVED) {
    deepEqual(
      Object.entries(table.columns).toSorted(),
      typed(schema.get(name), name === "task_ends" ? RESERVATION : []),
      name,
    );
  }
  deepEqual(
    columns.filter((row) => row["is_identity"] === "YES").map(({ name }) => name).toSorted(),
    MOVED.filter(([, table]) => isNumbered(table)).map(([name]) => name).toSorted(),
  );
}, { isLong: false });

Deno.test("the sum of a table tells a changed, a missing and a doubled row, in any order", () => {
  const columns = { id: "text", n: "int", x: "real", body: "bytes" } as const;
  type Values = readonly [string, number | null, (Uint8Array | null)?, (number | null)?];
  const sum = (...rows: readonly Values[]) => {
    const page = new RowPage(columns);
    const sums = newSums();
    for (const [id, n, body = null, x = null] of rows) sums.add(page.add({ id, n, x, body }));
    return `${sums.total.rows} ${sums.total.sum}`;
  };
  const bytes = new Uint8Array([1, 2, 3]);
  const whole = sum(["a", 1], ["b", null, bytes]);
  deepEqual(sum(["b", null, bytes], ["a", 1]), whole);
  const others = [
    sum(["a", 1]),
    sum(["a", 1], ["a", 1]),
    sum(["a", 1], ["b", 0, bytes]),
    sum(["a", 1], ["b", null]),
    sum(["a", 1], ["b", null, new Uint8Array()]),
    sum(["a", 1], ["b", null, new Uint8Array([1, 2, 4])]),
    sum(["a", 1], ["b", null, bytes], ["b", null, bytes]),
    sum(["a", 1], ["b", null, bytes, 0]),
    sum(["b", 1], ["a", null, bytes]),
    sum(),
  ];
  deepEqual(new Set([whole, ...others]).size, others.length + 1);
  for (const odd of [{ id: 1 }, { n: "1" }, { n: 0.5 }, { n: 2 ** 53 }, { n: 5n }, { body: "a" }]) {
    throws(() => new RowPage(columns).add(odd), /^TypeError: Column (id|n|body) is not/);
  }
});

/** Values at the edges of each type; a page is full with some of them, and too small for one. */
const EDGES: readonly Row[] = [
  { id: "", n: 0, x: 0, body: new Uint8Array() },
  { id: null, n: null, x: null, body: null },
  { id: "a\tb\n\\N", n: -1, x: -0.1, body: new Uint8Array([0, 255, 92]) },
  { id: "\ud55c\uae00 \ud83d\ude00", n: Number.MAX_SAFE_INTEGER, x: 5e-324, body: null },
  { id: `${"x".repeat(70)}\u00e9`, n: Number.MIN_SAFE_INTEGER, x: 1.7e308, body: null },
  { id: "y".repeat(300_000), n: 2 ** 32, x: 1e21, body: new Uint8Array(200_000).fill(7) },
  { id: "\u00ff", n: -(2 ** 32), x: Infinity, body: null },
  ...Array.from({ length: 3000 }, (_, n) => ({ id: `row ${n}`, n, x: n / 7, body: null })),
];

postgresTest("rows come back as the bytes and the values that were sent", async () => {
  await using database = await createTestDatabase();
  const owner = { node: "t", run: "t" };
  await using connections = new Connections({ url: database.url, owner, max: 1 });
  using kept = await connections.keep();
  await kept.db.exec(
    "CREATE TABLE edges (id text, n bigint, x double precision, body bytea)",
  );
  const table = { columns: { id: "text", n: "int", x: "real", body: "bytes" } } as const;
  const [sent, back] = [newSums(), newSums()];
  const counts: number[] = [];
  for await (const n of writeRows(kept, ["edges", table], { rows: EDGES, sums: sent })) {
    counts.push(n);
  }
  deepEqual([counts.length > 2, sent.total.rows], [true, EDGES.length]);
  deepEqual(await kept.db.all("SELECT * FROM edges ORDER BY ctid"), EDGES);
  const read = async (named: Parameters<typeof readRows>[1]) => {
    for await (const _ of readRows(kept, named, back)); // to its end
    return back.total;
  };
  deepEqual(await read(["edges", table]), sent.total);

  await kept.db.exec("CREATE TABLE none (id text)");
  const none = ["none", { columns: { id: "text" } }] as const;
  deepEqual(await read(none), sent.total); // of nothing, only the end comes

  await kept.db.exec("CREATE UNIQUE INDEX ON none (id)");
  const write = async (rows: Iterable<Row>) => {
    for await (const _ of writeRows(kept, none, { rows, sums: back })); // to its end
  };
  await rejects(write([{ id: "a" }, { id: "a" }]), /duplicate key/);
  await rejects(
    write(function* () {
      yield { id: "b" };
      throw new Error("the file cannot be read");
    }()),
    /the file cannot be read/,
  );
  deepEqual(await kept.db.all("SELECT id FROM none"), []);
  await write([{ id: "a" }]);
  deepEqual(await kept.db.all("SELECT id FROM none"), [{ id: "a" }]);
}, { isLong: false });
