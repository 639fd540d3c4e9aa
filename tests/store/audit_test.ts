/**
 * The audit in the store: rows that are finished once, and a chain that survives retention.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import type { AuditStart } from "../../src/store/audit_records.ts";
import { DatabaseSync } from "node:sqlite";
import { tempStore } from "./temp_store.ts";

function start(n: number): AuditStart {
  return {
    id: `A${String(n).padStart(5, "0")}`,
    createdAt: n * 1000,
    action: "execute",
    crdKind: "Hook",
    pluginName: "check",
    command: "scripts/x.sh",
    pluginType: "interceptor",
    phase: "webhook.authenticate",
    trigger: "t",
    deliveryId: "d",
    role: "system",
    policyMode: "allowlist",
  };
}

const END = { result: "ok", finishedAt: 9, exitCode: 0, durationMs: 1, stderr: "" } as const;

Deno.test("a row is finished once", async () => {
  await using temp = await tempStore();
  const { store } = temp;
  await store.startAudit(start(1));
  await store.startAudit(start(2));
  await store.finishAudit("A00001", END);
  await store.finishAudit("A00001", { ...END, result: "failed" });
  deepEqual((await store.listAudit({ limit: 9 })).map(({ result }) => result), ["running", "ok"]);
  deepEqual(await store.verifyAudit(), { rows: 2, faults: [] });
});

Deno.test("retention removes the oldest rows and leaves a chain that verifies", async () => {
  await using temp = await tempStore();
  const { store } = temp;
  for (let n = 1; n <= 20; n++) {
    await store.startAudit(start(n));
    await store.finishAudit(start(n).id, END);
  }
  equal(await store.pruneAudit(6000, 1000), 5, "those from before that time");
  deepEqual(await store.verifyAudit(), { rows: 15, faults: [] });
  equal(await store.pruneAudit(0, 10), 5, "those beyond that number");
  deepEqual(await store.verifyAudit(), { rows: 10, faults: [] });
  equal(await store.pruneAudit(0, 10), 0);
  await store.startAudit(start(30));
  await store.finishAudit(start(30).id, END);
  deepEqual(await store.verifyAudit(), { rows: 11, faults: [] });
});

Deno.test("retention stops before a row that still runs", async () => {
  await using temp = await tempStore();
  const { store } = temp;
  await store.startAudit(start(1));
  for (let n = 2; n <= 4; n++) {
    await store.startAudit(start(n));
    await store.finishAudit(start(n).id, END);
  }
  equal(await store.pruneAudit(99_000, 1000), 0);
  deepEqual(await store.verifyAudit(), { rows: 4, faults: [] });
});

Deno.test("100,000 refusals of one caller push out no trace of another, nor of what it did", async () => {
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
    });
  await trace("A", "socket", "denied");
  await trace("B", "socket", "done");
  await trace("C", "step", "done");
  using db = new DatabaseSync(temp.path);
  db.exec(`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99999)
    INSERT INTO control_audit SELECT printf('D%06d', i), '1970-01-01T00:00:00.001Z', 'delete', '',
      'step', 'read_only', 'denied' FROM n`);
  await trace("E", "step", "denied");
  await trace("F", "socket", "done");
  const rows = await store.listControl({ limit: 200_000 });
  deepEqual(rows.filter(({ id }) => !id.startsWith("D")).map(({ id }) => id), [
    ...["F", "E", "C", "B", "A"],
  ]);
  equal(
    rows.filter(({ result, caller }) => caller === "step" && result === "denied").length,
    20_000,
  );
});
