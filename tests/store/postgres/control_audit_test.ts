/**
 * The audit of the control plane in a table of a size that no test reaches call by call.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import type { ControlEvent } from "../../../src/store/audit_records.ts";
import { twoDaemonsTest } from "../../rigs/two_daemons.ts";

function trace(id: string, caller: string, result: "done" | "denied"): ControlEvent {
  const rest = { createdAt: 1, operation: "apply", target: "", role: "r", reason: "" };
  return { id, caller, result, ...rest };
}

twoDaemonsTest(
  "refusals of one caller at two daemons push out no trace of another",
  async (all) => {
    const { a, b, sql } = all;
    await a.recordControl(trace("A", "socket", "denied"));
    await b.recordControl(trace("B", "socket", "done"));
    await a.recordControl(trace("C", "step", "done"));
    await sql((db) =>
      db.exec(`INSERT INTO control_audit
      (id, created_at, operation, target, caller, role, result)
      SELECT 'D' || lpad(n::text, 6, '0'), '1970-01-01T00:00:00.001Z', 'delete', '', 'step',
        'read_only', 'denied' FROM generate_series(0, 29999) AS n`)
    );
    await Promise.all(
      [a, b].map((store, n) => store.recordControl(trace(`E${n}`, "step", "denied"))),
    );
    // neither saw the row of the other yet
    await a.recordControl(trace("E2", "step", "denied"));
    const rows = await a.listControl({ limit: 200_000 });
    const others = rows.filter(({ caller, result }) => caller !== "step" || result !== "denied");
    deepEqual(others.map(({ id }) => id), ["C", "B", "A"]);
    equal(rows.length - others.length, 20_000);
    deepEqual(rows.slice(0, 3).map(({ id }) => id), ["E2", "E1", "E0"], "the newest stay");
  },
);
