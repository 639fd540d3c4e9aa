/**
 * The audit of several daemons: a chain for each node, of which every fault shows.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import type { AuditStart } from "../../../src/store/audit_records.ts";
import type { Store } from "../../../src/store/store.ts";
import { range } from "../contract/each_store.ts";
import { type TwoDaemons, twoDaemonsTest } from "../../rigs/two_daemons.ts";

function start(id: string, createdAt = 1000): AuditStart {
  return {
    id,
    createdAt,
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

async function write(store: Store, id: string, createdAt?: number): Promise<void> {
  await store.startAudit(start(id, createdAt));
  await store.finishAudit(id, END);
}

twoDaemonsTest("two daemons that write at once make two sound chains", async ({ a, b, sql }) => {
  await Promise.all([a, b].flatMap((store, which) =>
    range(0, 40).map(async (n) => {
      const id = `A${which}${String(n).padStart(3, "0")}`;
      if (n % 4 > 0) await write(store, id);
      else await store.recordAudit([{ start: start(id), end: END }]);
    })
  ));
  deepEqual(await a.verifyAudit(), { rows: 80, faults: [] });
  const heads = await sql((db) => db.all("SELECT chain, position FROM plugin_audit_heads"));
  deepEqual(heads.toSorted((x, y) => x["chain"]! < y["chain"]! ? -1 : 1), [
    { chain: "a", position: 80 },
    { chain: "b", position: 80 },
  ]);
});

twoDaemonsTest("of calls that share a commit, one that fails spoils no other", async ({ a }) => {
  await write(a, "A1");
  const outcomes = await Promise.allSettled([
    a.startAudit(start("A2")),
    a.startAudit(start("A1")),
    a.recordAudit([{ start: start("A3"), end: END }, { start: start("A1"), end: END }]),
    a.startAudit(start("A4")),
  ]);
  deepEqual(outcomes.map(({ status }) => status), [
    "fulfilled",
    "rejected",
    "rejected",
    "fulfilled",
  ]);
  await Promise.all([
    a.finishAudit("A2", END),
    a.finishAudit("A2", { ...END, result: "failed" }),
    a.finishAudit("A1", { ...END, result: "failed" }),
    a.finishAudit("A4", { ...END, stderr: "\0 and \ud800" }),
  ]);
  const rows = await a.listAudit({ limit: 9 });
  deepEqual(rows.map(({ id, result, stderr }) => [id, result, stderr]), [
    ["A4", "ok", "\u2400 and \ufffd"],
    ["A2", "ok", ""],
    ["A1", "ok", ""],
  ]);
  deepEqual(await a.verifyAudit(), { rows: 3, faults: [] });
});

twoDaemonsTest("the audit verifies while it is written", async ({ a, b }) => {
  const writing = Promise.all(range(0, 60).map((n) => write(a, `A${n}`)));
  for (let round = 0; round < 10; round++) {
    const { faults } = await b.verifyAudit();
    deepEqual(faults, []);
  }
  await writing;
});

twoDaemonsTest(
  "a run that one daemon begins and another finishes stays in one chain",
  async (daemons) => {
    const { a, b, endLeaseOfA, sql } = daemons;
    await a.startAudit(start("A1"));
    deepEqual(await b.claimInterruptedAudits(), [], "whose node has its lease");
    await endLeaseOfA();
    const claimed = (await Promise.all([b, b].map((store) => store.claimInterruptedAudits())))
      .flat();
    deepEqual(claimed.map(({ id }) => id), ["A1"], "by one of those who ask at once");
    await b.finishAudit("A1", { ...END, result: "interrupted" });
    await a.finishAudit("A1", END);
    deepEqual((await a.listAudit({ limit: 9 })).map(({ result }) => result), ["interrupted"]);
    deepEqual(await a.verifyAudit(), { rows: 1, faults: [] });
    const links = await sql((db) => db.all("SELECT chain FROM plugin_audit_chain"));
    deepEqual(links.map(({ chain }) => chain), ["a", "a"]);
  },
);

const TAMPERED: readonly {
  readonly what: string;
  readonly sql: string;
  readonly faults: readonly string[];
}[] = [
  {
    what: "a changed row",
    sql: "UPDATE plugin_audit SET command = 'other' WHERE id = 'B2'",
    faults: ["Row B2 was changed (start), in the chain of node b"],
  },
  {
    what: "a row of another's chain",
    sql: "UPDATE plugin_audit SET chain = 'a' WHERE id = 'B2'",
    faults: [
      "Row B2 was added from outside, in the chain of node a",
      "Row B2 was finished from outside, in the chain of node a",
    ],
  },
  {
    what: "a cut end",
    sql: `DELETE FROM plugin_audit WHERE id = 'B3';
      DELETE FROM plugin_audit_chain WHERE audit_id = 'B3'`,
    faults: ["The last links are missing, there were 6, in the chain of node b"],
  },
  {
    what: "a removed middle",
    sql: `DELETE FROM plugin_audit WHERE id = 'B2';
      DELETE FROM plugin_audit_chain WHERE audit_id = 'B2'`,
    faults: [
      "Links 3 to 4 are gone, in the chain of node b",
      "Row B3 was changed (start), in the chain of node b",
    ],
  },
  {
    what: "a chain that was removed whole",
    sql: `DELETE FROM plugin_audit WHERE chain = 'b';
      DELETE FROM plugin_audit_chain WHERE chain = 'b'`,
    faults: ["The last links are missing, there were 6, in the chain of node b"],
  },
  {
    what: "a forgotten end",
    sql: "DELETE FROM plugin_audit_heads WHERE chain = 'b'",
    faults: ["Links up to 6 were added from outside, in the chain of node b"],
  },
  {
    what: "a row from outside, of a node that never was",
    sql:
      `INSERT INTO plugin_audit SELECT 'C1', created_at, finished_at, action, crd_kind, plugin_name,
        command, 'running', plugin_type, phase, "trigger", delivery_id, exit_code, duration_ms, stderr,
        role, policy_mode, 'c', 'c1', 'c' FROM plugin_audit WHERE id = 'B1'`,
    faults: ["Row C1 was added from outside, in the chain of node c"],
  },
];

for (const { what, sql: tamper, faults } of TAMPERED) {
  twoDaemonsTest(`${what} shows, with its chain`, async ({ a, b, sql }) => {
    for (const n of [1, 2, 3]) {
      await write(a, `A${n}`);
      await write(b, `B${n}`);
    }
    await sql((db) => db.exec(tamper));
    deepEqual((await a.verifyAudit()).faults, faults);
  });
}

twoDaemonsTest(
  "retention leaves every chain sound, also when two do it at once",
  async ({ a, b }) => {
    for (let n = 1; n <= 20; n++) await write(n % 2 === 0 ? a : b, `A${100 + n}`, n * 1000);
    const removed = await Promise.all([a, b, a, b].map((store) => store.pruneAudit(6000, 1000)));
    equal(removed.reduce((sum, n) => sum + n, 0), 5);
    deepEqual(await a.verifyAudit(), { rows: 15, faults: [] });
    equal(await b.pruneAudit(0, 10), 5, "the oldest of all, whoever wrote them");
    deepEqual(
      (await a.listAudit({ limit: 99 })).map(({ id }) => id),
      range(0, 10).map((n) => `A${120 - n}`),
    );
    deepEqual(await a.verifyAudit(), { rows: 10, faults: [] });
  },
);

twoDaemonsTest(
  "a row that runs keeps what came after it in its own chain alone",
  async ({ a, b }: TwoDaemons) => {
    await a.startAudit(start("A1", 1000));
    for (const n of [2, 4, 6]) await write(a, `A${n}`, n * 1000);
    for (const n of [3, 5, 7]) await write(b, `A${n}`, n * 1000);
    equal(await a.pruneAudit(99_000, 1000), 3);
    deepEqual((await a.listAudit({ limit: 9 })).map(({ id }) => id), ["A6", "A4", "A2", "A1"]);
    await a.finishAudit("A1", END);
    equal(await b.pruneAudit(99_000, 1000), 4);
    deepEqual(await a.verifyAudit(), { rows: 0, faults: [] });
    await write(a, "A8");
    deepEqual(await a.verifyAudit(), { rows: 1, faults: [] });
  },
);
