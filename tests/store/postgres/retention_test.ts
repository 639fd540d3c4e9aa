/**
 * Retention where several daemons share a database: one of them removes rows, and each the files on
 * its own disk.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import type { Session } from "../../../src/store/postgres/database/connections.ts";
import { range } from "../contract/each_store.ts";
import { type TwoDaemons, twoDaemonsTest } from "../../rigs/two_daemons.ts";

/** Stores ended tasks of a node, each with a delivery, a step, a key and a directory. */
function ended(db: Session, { from, to, node, trigger = "t", plan = "p" }: {
  from: number;
  to: number;
  node: string;
  trigger?: string;
  plan?: string;
}): Promise<void> {
  return db.exec(`
    INSERT INTO plans VALUES ('${plan}', '{}') ON CONFLICT DO NOTHING;
    WITH n AS (SELECT n, lpad(n::text, 6, '0') AS id FROM generate_series(${from}, ${to}) AS n),
      d AS (INSERT INTO deliveries SELECT '0D' || id, 'p', '${trigger}', 's', 'http', n, 'accepted', '',
        202, '', '', '', 'T' || id, 0, 0, '{}' FROM n),
      s AS (INSERT INTO steps SELECT 'T' || id, 0, 'a', 'succeeded', 0, '' FROM n),
      k AS (INSERT INTO dedup_keys SELECT sha256(id::bytea), '0D' || id, 'T' || id, n FROM n)
    INSERT INTO tasks (id, project, "trigger", workflow, workspace, state, reason, delivery_id,
        plan_hash, created_at, finished_at, directory, node)
      SELECT 'T' || id, 'p', '${trigger}', 'w', 'ws', 'failed', '', '0D' || id, '${plan}', n, n,
        '/copies/' || n, '${node}' FROM n`);
}

const count = ({ sql }: TwoDaemons, table: string) =>
  sql(async (db) => Number((await db.get(`SELECT count(*) AS n FROM ${table}`))?.["n"]));

twoDaemonsTest(
  "tasks go with all that belongs to them, their files on their own nodes",
  async (all) => {
    const { a, b, sql } = all;
    await sql(async (db) => {
      await ended(db, { from: 1, to: 2, node: "a" });
      await ended(db, { from: 3, to: 4, node: "b" });
      await ended(db, { from: 5, to: 5, node: "gone" });
      await ended(db, { from: 6, to: 6, node: "", plan: "other" });
    });
    const removed = await a.pruneTasks({ before: 6, limit: 99 });
    deepEqual(removed, [
      { id: "T000001", directory: "/copies/1" },
      { id: "T000002", directory: "/copies/2" },
      ...[3, 4, 5].map((n) => ({ id: `T00000${n}`, directory: "" })),
    ]);
    const left = await Promise.all(
      ["tasks", "steps", "dedup_keys", "plans"].map((t) => count(all, t)),
    );
    deepEqual(left, [1, 1, 1, 1]);
    deepEqual(await a.pruneTasks({ before: 6, limit: 99 }), []);
    deepEqual(await b.pruneTasks({ before: 6, limit: 1 }), [{
      id: "T000003",
      directory: "/copies/3",
    }]);
    deepEqual(await b.pruneTasks({ before: 7, limit: 99 }), [
      { id: "T000004", directory: "/copies/4" },
      { id: "T000006", directory: "/copies/6" },
    ]);
    deepEqual(await b.pruneTasks({ before: 6, limit: 99 }), []);
    equal(await count(all, "plans"), 0);
    equal(await count(all, "files_to_remove"), 0);
  },
);

twoDaemonsTest("nothing is noted for a node that was forgotten", async (all) => {
  const { a, sql } = all;
  await sql((db) => ended(db, { from: 1, to: 2, node: "b" }));
  equal((await a.pruneTasks({ before: 2, limit: 9 })).length, 1);
  equal(await count(all, "files_to_remove"), 1);
  await a.forgetNode("b");
  equal(await count(all, "files_to_remove"), 0);
  equal((await a.pruneTasks({ before: 3, limit: 9 })).length, 1);
  equal(await count(all, "files_to_remove"), 0);
});

twoDaemonsTest(
  "the newest of each trigger stay, whatever the size of a call",
  async ({ a, b, sql }) => {
    await sql(async (db) => {
      for (let t = 0; t < 5; t++) {
        await ended(db, { from: t * 10, to: t * 10 + 9, node: "", trigger: `t${t}` });
      }
    });
    const removed: string[] = [];
    for (let call = 0; call < 30; call++) {
      removed.push(...(await a.pruneTasks({ before: 0, keep: 3, limit: 3 })).map(({ id }) => id));
    }
    const gone = range(0, 50).filter((n) => n % 10 < 7).map((n) =>
      `T${String(n).padStart(6, "0")}`
    );
    deepEqual(removed, gone, "each trigger's oldest first, one trigger after the other");
    deepEqual(await b.pruneTasks({ before: 0, keep: 3, limit: 3 }), []);
  },
);

twoDaemonsTest("bodies are taken by one daemon at a time", async ({ a, b, sql }) => {
  await sql((db) => ended(db, { from: 1, to: 2, node: "" }));
  await sql((db) =>
    db.exec("UPDATE deliveries SET body = 'x'::bytea, headers = '{}', url = 'http://a/x'")
  );
  const ids = ["0D000001", "0D000002"];
  const how = { ids, before: 1e15, now: 1 };
  await sql(async (db) => {
    ok(await db.tryLock("retention/bodies"), "as another one does that is at it");
    deepEqual(await a.deleteBodies(how), { deleted: 0, needed: ids }, "so it comes again");
  });
  const both = await Promise.all([a.deleteBodies(how), b.deleteBodies(how)]);
  equal(both.reduce((sum, { deleted }) => sum + deleted, 0), 2);
  deepEqual(await b.deleteBodies(how), { deleted: 0, needed: [] });
});

twoDaemonsTest("two daemons that prune at once remove each row once", async (all) => {
  const { a, b, sql } = all;
  await sql((db) => ended(db, { from: 1, to: 200, node: "" }));
  const tasks = await Promise.all(
    range(0, 40).map((n) => (n % 2 === 0 ? a : b).pruneTasks({ before: 101, keep: 60, limit: 9 })),
  );
  const ids = tasks.flat().map(({ id }) => id);
  equal(new Set(ids).size, ids.length);
  ok(ids.length > 0);
  while ((await a.pruneTasks({ before: 101, keep: 60, limit: 9 })).length > 0);
  equal(await count(all, "tasks"), 60);
  const deliveries = await Promise.all(
    range(0, 20).map((n) => (n % 2 === 0 ? a : b).pruneDeliveries({ before: 1e15, limit: 9 })),
  );
  let removed = deliveries.reduce((sum, n) => sum + n, 0);
  ok(removed > 0);
  for (let call = 0; call < 40; call++) {
    removed += await b.pruneDeliveries({ before: 1e15, limit: 9 });
  }
  equal(removed, 140);
  equal(await count(all, "deliveries"), 60);
});

twoDaemonsTest("a plan that is about to be named stays", async (all) => {
  const { a, sql } = all;
  await sql((db) => ended(db, { from: 1, to: 2, node: "" }));
  await sql(async (db) => {
    await db.all("SELECT hash FROM plans WHERE hash = 'p' FOR KEY SHARE");
    equal((await a.pruneTasks({ before: 2, limit: 9 })).length, 1);
    equal((await a.pruneTasks({ before: 3, limit: 9 })).length, 1);
    await db.exec(`INSERT INTO tasks (id, project, "trigger", workflow, workspace, state, reason,
      delivery_id, plan_hash, created_at) VALUES ('T3', 'p', 't', 'w', 'w', 'pending', '', '', 'p', 1)`);
  });
  equal(await count(all, "plans"), 1);
});

twoDaemonsTest("a key that another task has by now stays with it", async (all) => {
  const { a, sql } = all;
  await sql((db) => ended(db, { from: 1, to: 2, node: "" }));
  const pruned = await sql(async (db) => {
    await db.run("UPDATE dedup_keys SET task_id = 'T3' WHERE task_id = 'T000001'");
    const pruning = a.pruneTasks({ before: 9, limit: 9 });
    await db.exec(`INSERT INTO tasks (id, project, "trigger", workflow, workspace, state, reason,
      delivery_id, created_at) VALUES ('T3', 'p', 't', 'w', 'w', 'pending', '', '', 1)`);
    await db.exec("SELECT pg_sleep(0.1)");
    return { pruning };
  });
  equal((await pruned.pruning).length, 2);
  equal(await count(all, "dedup_keys"), 1);
});
