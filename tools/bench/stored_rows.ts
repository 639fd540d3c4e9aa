/**
 * Fills a database with very many ended deliveries and tasks: copies of a task that the daemon
 * made, each with its own ids and times. This is the only SQL of the bench that writes.
 *
 * @module
 */

import { DatabaseSync } from "node:sqlite";
import type { DataDirectory } from "../../tests/helpers/daemon.ts";
import type { Program } from "../../tests/helpers/program.ts";
import { requestTo, sendOne, startSite } from "./site.ts";

export interface FillOptions {
  /** Number of deliveries, and of tasks. */
  readonly rows: number;
  /** Age of the oldest copy in milliseconds; the others follow a millisecond apart. */
  readonly agoMs: number;
}

/** First character of the ids of copies, which sort below all new ids. */
const IDS = { deliveries: "01HD", tasks: "01HT" } as const;

/** Runs a real task, and copies it. */
export async function fillDirectory(
  program: Program,
  directory: DataDirectory,
  options: FillOptions,
): Promise<void> {
  {
    await using daemon = await startSite(program, { directory });
    await sendOne(requestTo(daemon.url, "accept"));
    await daemon.settled();
  }
  fillDatabase(`${directory.path}/svc.db`, options);
}

/** Copies the newest ended task with its steps and its delivery; no daemon may be running. */
export function fillDatabase(path: string, { rows, agoMs }: FillOptions): void {
  using db = new DatabaseSync(path);
  db.exec("PRAGMA synchronous = OFF; PRAGMA cache_size = -400000;");
  const row = db.prepare("SELECT id, delivery_id FROM tasks WHERE finished_at IS NOT NULL").get();
  const from = { task: String(row?.["id"]), delivery: String(row?.["delivery_id"]) };
  const at = `(${Date.now() - agoMs} + n)`;
  const id = (table: keyof typeof IDS) => `printf('${IDS[table]}%022d', n)`;
  const copies =
    `WITH RECURSIVE seq(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM seq WHERE n < ${rows})`;
  const copy = (table: string, where: string, changed: Record<string, string>) => {
    const columns = db.prepare(`SELECT name FROM pragma_table_info('${table}')`).all()
      .map(({ name }) => `"${name}"`);
    const values = columns.map((column) => changed[column.slice(1, -1)] ?? `${table}.${column}`);
    db.exec(`INSERT INTO ${table} (${columns}) ${copies}
      SELECT ${values} FROM seq, ${table} WHERE ${where}`);
  };
  db.exec("BEGIN");
  copy("deliveries", `deliveries.id = '${from.delivery}'`, {
    id: id("deliveries"),
    task_id: id("tasks"),
    received_at: at,
    body: "CAST('{}' AS BLOB)", // two kilobytes each would only fill the disk
  });
  copy("tasks", `tasks.id = '${from.task}'`, {
    id: id("tasks"),
    delivery_id: id("deliveries"),
    created_at: at,
    started_at: at,
    finished_at: at,
    state: "CASE WHEN n % 10 = 0 THEN 'failed' ELSE 'succeeded' END",
  });
  copy("steps", `steps.task_id = '${from.task}'`, { task_id: id("tasks") });
  db.exec(`UPDATE plan_uses SET tasks = tasks + ${rows}
    WHERE hash = (SELECT plan_hash FROM tasks WHERE id = '${from.task}')`);
  db.exec("COMMIT; PRAGMA wal_checkpoint(TRUNCATE);");
}
