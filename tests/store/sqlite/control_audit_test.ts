/**
 * The audit of the control plane in a table of a size that no test reaches call by call.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { tempStore } from "../../helpers/temp_store.ts";
import { NOT_SLOW } from "../../helpers/program.ts";
import { skippable } from "../../helpers/requirements.ts";

Deno.test(
  skippable(
    "100,000 refusals of one caller push out no trace of another, nor of what it did",
    NOT_SLOW,
  ),
  async () => {
    await using temp = await tempStore();
    const { store } = temp;
    const trace = (id: string, caller: string, result: "done" | "denied") =>
      store.recordControl({
        id,
        createdAt: 1,
        operation: "apply",
        target: "",
        caller,
        role: "r",
        result,
        reason: "",
      });
    await trace("A", "socket", "denied");
    await trace("B", "socket", "done");
    await trace("C", "step", "done");
    using db = new DatabaseSync(temp.path);
    db.exec(`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99999)
    INSERT INTO control_audit (id, created_at, operation, target, caller, role, result)
      SELECT printf('D%06d', i), '1970-01-01T00:00:00.001Z', 'delete', '',
      'step', 'read_only', 'denied' FROM n`);
    await trace("E", "step", "denied");
    await trace("F", "socket", "done");
    const rows = await store.listControl({ limit: 200_000 });
    deepEqual(rows.filter(({ id }) => !id.startsWith("D")).map(({ id }) => id), [
      "F",
      "E",
      "C",
      "B",
      "A",
    ]);
    equal(
      rows.filter(({ result, caller }) => caller === "step" && result === "denied").length,
      20_000,
    );
  },
);

Deno.test("names of programs, which anybody may choose, take no room of their own", async () => {
  await using temp = await tempStore();
  using db = new DatabaseSync(temp.path);
  db.exec(`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 29999)
    INSERT INTO control_audit (id, created_at, operation, target, caller, client, role, result)
      SELECT printf('D%06d', i), '1970-01-01T00:00:00.001Z', 'delete', '',
      'socket', printf('program-%d', i), 'read_only', 'denied' FROM n`);
  const last = {
    id: "E",
    createdAt: 1,
    operation: "delete",
    target: "",
    caller: "socket",
    client: "console",
    role: "read_only",
    result: "denied",
    reason: "",
  } as const;
  await temp.store.recordControl(last);
  const rows = await temp.store.listControl({ limit: 200_000 });
  equal(rows.length, 20_000);
  deepEqual(rows[0], last);
});
