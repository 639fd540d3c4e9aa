/**
 * What each trigger takes in a PostgreSQL that is shared, over many slices.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { Connections } from "../../src/store/postgres/database/connections.ts";
import { measureShared } from "../../src/store/postgres/measure_usage.ts";
import { createTestDatabase, postgresTest } from "../helpers/postgres.ts";
import { finish } from "../rigs/upkeep_rig.ts";

const OWNER = { node: "test", run: "test" };

postgresTest("usage of a shared database counts each record of each trigger once", async () => {
  await using database = await createTestDatabase();
  await using connections = new Connections({ url: database.url, owner: OWNER, max: 1 });
  await connections.use((db) =>
    db.exec(`
      INSERT INTO deliveries (id, project, "trigger", source, via, received_at, outcome, reason,
        status, remote, secret_store, secret_key, task_id, body_bytes, duration_ms, detail, headers,
        body)
      SELECT '01A' || lpad(n::text, 23, '0'), 'default', CASE n % 2 WHEN 0 THEN 'even' ELSE 'odd' END,
        'webhook', 'http', 1, 'accepted', '', 200, '', '', '', '', 1, 1, '{}', '[]', 'x'::bytea
      FROM generate_series(1, 5001) AS n;
      INSERT INTO tasks (id, project, "trigger", workflow, workspace, state, reason, delivery_id,
        payload, created_at, finished_at)
      SELECT id, project, "trigger", 'w', 'w', 'succeeded', '', id, 'x'::bytea, 1, 2 FROM deliveries;
      INSERT INTO task_logs SELECT id, 0, convert_to(repeat('line ', 20000), 'UTF8') FROM tasks
      WHERE id = '01A' || lpad('2', 23, '0');`)
  );
  const { result, steps } = await finish(measureShared({ url: database.url, owner: OWNER }));
  match(result.database, /^PostgreSQL "svc_test_/);
  ok(result.bytes > 1_000_000 && steps > 6);
  const even = result.triggers.find(({ trigger }) => trigger === "even");
  const odd = result.triggers.find(({ trigger }) => trigger === "odd");
  deepEqual([even?.deliveries, even?.tasks, odd?.deliveries, odd?.tasks], [2500, 2500, 2501, 2501]);
  equal(odd?.logBytes, 0);
  ok((even?.logBytes ?? 0) > 100 && (even?.logBytes ?? 0) < 50_000, "as it is stored");
});
