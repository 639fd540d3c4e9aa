/**
 * How much PostgreSQL reads for a batch: what its calls are about, however many tasks wait. The plans
 * of the functions are made while there is nothing yet.
 *
 * @module
 */

import { ok } from "node:assert/strict";
import { Connections, type Session } from "../../../src/store/postgres/database/connections.ts";
import { createTestDatabase, postgresTest } from "../../helpers/postgres.ts";

const ROWS = 30_000;

const FILL = `
  INSERT INTO plans (hash, plan) VALUES ('h', '{}');
  INSERT INTO tasks (id, project, "trigger", workflow, workspace, state, reason, delivery_id,
      plan_hash, created_at, gate, gate_max, workspace_max, debounce)
    SELECT '01HT' || lpad(n::text, 22, '0'), 'p', 't', 'w', 'repo' || n % 1000, 'pending', '',
      'd' || n, 'h', n, decode(md5('gate' || n % 1000), 'hex'), 1, 5,
      decode(md5('debounce' || n), 'hex')
    FROM generate_series(1, ${ROWS}) AS n;
  INSERT INTO steps (task_id, position, id, state, reason, attempt, round)
    SELECT id, 0, 'a', 'running', '', 1, 1 FROM tasks ON CONFLICT DO NOTHING;
  INSERT INTO dedup_keys (digest, delivery_id, task_id, created_at)
    SELECT decode(md5(id), 'hex'), delivery_id, id, created_at FROM tasks;`;

const idOf = (n: number) => `01HT${String(n).padStart(22, "0")}`;

/** What a batch may be about, each with something that is stored and something that is not. */
const WANTED = {
  nothing: {},
  earlier: { earlier: ["00"] },
  debounced: { debounced: ["00"] },
  groups: { groups: [{ digest: "00", depth: 1, members: 1, replaces: true }] },
  tasks: { tasks: [idOf(7)] },
  claims: { claims: [idOf(7)] },
};

/** What a batch may change. */
const CHANGES = {
  nothing: {},
  updates: { updates: [{ id: idOf(8), state: "running" }] },
  steps: {
    steps: [{
      task_id: idOf(8),
      position: 0,
      id: "a",
      state: "running",
      reason: "",
      attempt: 1,
      round: 1,
    }],
  },
  ended: { ended_steps: [{ task_id: idOf(8), state: "failed", reason: "", finished_at: 1 }] },
  retries: {
    retries: [{
      id: idOf(0),
      of: idOf(8),
      workspace: "repo8",
      plan_hash: "h",
      created_at: 1,
      keeps_directory: false,
      readiness: 0,
    }],
  },
  over: { over: [idOf(8)] },
  ready: { ready: [idOf(8)] },
  back: { put_back: [idOf(8)] },
};

postgresTest("a batch reads what it is about, however many tasks wait", async (t) => {
  await using database = await createTestDatabase();
  const owner = { node: "tests", run: "tests" };
  await using connections = new Connections({ url: database.url, owner, max: 1 });
  const calls = [
    ...Object.entries(WANTED).map(([name, wanted]) => ({
      name: `facts of ${name}`,
      read: (db: Session) => pagesOf(db, "facts(?)", withLists(wanted)),
    })),
    ...Object.entries(CHANGES).map(([name, changes]) => ({
      name: `write ${name}`,
      read: (db: Session) =>
        pagesOf(db, "write(?, NULL, NULL, '')", { ready: [], over: [], put_back: [], ...changes }),
    })),
  ];
  await connections.use(async (db) => {
    for (const { read } of calls) await read(db);
    await db.exec(FILL);
    for (const { name, read } of calls) {
      await t.step(name, async () => {
        const pages = await read(db);
        ok(pages < 200, `${pages} pages`);
      });
    }
  });
});

/** Pages that a call has looked at. */
async function pagesOf(db: Session, call: string, value: unknown): Promise<number> {
  const sql = `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT ${call}`;
  const [row] = await db.all(sql, JSON.stringify(value));
  const [plan] = row?.["QUERY PLAN"] as unknown as [{ Plan: Record<string, number> }];
  return (plan.Plan["Shared Hit Blocks"] ?? 0) + (plan.Plan["Shared Read Blocks"] ?? 0);
}

function withLists(wanted: Record<string, unknown>): Record<string, unknown> {
  const none = { earlier: [], debounced: [], groups: [], workspaces: [], rates: [], tasks: [] };
  return { ...none, claims: [], deliveries: [], resources: false, ...wanted };
}
