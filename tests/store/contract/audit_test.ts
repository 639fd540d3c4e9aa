/**
 * The audit in the store: rows that are finished once, and a chain that survives retention.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import type { AuditStart, ControlEvent } from "../../../src/store/audit_records.ts";
import { eachStore } from "./each_store.ts";

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

eachStore(
  "a row is finished once, and what still runs is taken over after a restart",
  async (store, { restart }) => {
    await store.startAudit(start(1));
    await store.startAudit(start(2));
    await store.finishAudit("A00001", END);
    await store.finishAudit("A00001", { ...END, result: "failed" });
    deepEqual(await store.claimInterruptedAudits(), [], "its own runs are not interrupted");
    const again = await restart();
    deepEqual((await again.claimInterruptedAudits()).map(({ id }) => id), ["A00002"]);
    await again.finishAudit("A00002", { ...END, result: "interrupted" });
    deepEqual((await again.listAudit({ limit: 9 })).map(({ result }) => result), [
      "interrupted",
      "ok",
    ]);
    deepEqual(await again.verifyAudit(), { rows: 2, faults: [] });
  },
);

eachStore("retention removes the oldest rows and leaves a chain that verifies", async (store) => {
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

eachStore("retention stops before a row that still runs", async (store) => {
  await store.startAudit(start(1));
  for (let n = 2; n <= 4; n++) {
    await store.startAudit(start(n));
    await store.finishAudit(start(n).id, END);
  }
  equal(await store.pruneAudit(99_000, 1000), 0);
  deepEqual(await store.verifyAudit(), { rows: 4, faults: [] });
});

eachStore("recordAudit writes rows that are over, which are listed and found", async (store) => {
  const denied = { result: "denied", finishedAt: 9, stderr: "why" } as const;
  await store.recordAudit([{ start: start(1), end: denied }, { start: start(2), end: END }]);
  await store.recordAudit([]);
  const result = async (query: Parameters<typeof store.listAudit>[0]) =>
    (await store.listAudit(query)).map((row) => row.result);
  deepEqual(await result({ limit: 9 }), ["ok", "denied"]);
  deepEqual(await result({ limit: 9, outcome: "denied" }), ["denied"]);
  deepEqual(await result({ limit: 9, since: 2000 }), ["ok"]);
  deepEqual(await store.findAudit("A00001"), [{ ...start(1), ...denied }]);
  deepEqual(await store.verifyAudit(), { rows: 2, faults: [] });
});

/** A trace of the control plane. */
function trace(n: number, more: Partial<ControlEvent> = {}): ControlEvent {
  return {
    id: `C${String(n).padStart(6, "0")}`,
    createdAt: n,
    operation: "apply",
    target: "workflow/ci",
    caller: "socket",
    role: "admin",
    result: "started",
    reason: "",
    ...more,
  };
}

eachStore("traces of the control plane come back newest first, from a time on", async (store) => {
  for (const n of [1, 2, 3]) await store.recordControl(trace(n));
  deepEqual(await store.listControl({ limit: 2 }), [trace(3), trace(2)]);
  deepEqual(await store.listControl({ limit: 9, since: 3 }), [trace(3)]);
  await store.recordControl(trace(4, { caller: "ada" }));
  await store.recordControl(trace(5, { caller: "adam" }));
  deepEqual(await store.listControl({ limit: 9, caller: "ada" }), [trace(4, { caller: "ada" })]);
  deepEqual(await store.listControl({ limit: 1, caller: "socket" }), [trace(3)]);
  deepEqual(await store.listControl({ limit: 9, caller: "socket", since: 2 }), [
    trace(3),
    trace(2),
  ]);
});

eachStore("an operation has one end, and one that was refused has none", async (store) => {
  for (const n of [1, 2, 3]) await store.recordControl(trace(n));
  await store.recordControl(trace(4, { result: "denied" }));
  const failed = { result: "failed", reason: "no room", finishedAt: 7 } as const;
  const done = { result: "done", reason: "", finishedAt: 8 } as const;
  await store.finishControl(trace(2).id, failed);
  for (const n of [2, 3, 4, 5]) await store.finishControl(trace(n).id, done);
  deepEqual(await store.listControl({ limit: 9 }), [
    trace(4, { result: "denied" }),
    trace(3, done),
    trace(2, failed),
    trace(1),
  ]);
});
