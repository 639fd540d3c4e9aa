/**
 * Every method of the store, and how SQLite carries out its statements. A method that is not called
 * here does not compile here, and what looks through a whole table is on a list with its reason.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal, throws } from "node:assert/strict";
import type { NumberedRecord } from "../../../src/resources/record_names.ts";
import { RECORD_TABLES } from "../../../src/store/sql/id_search.ts";
import type { AuditStart, ControlToken } from "../../../src/store/audit_records.ts";
import type { Database } from "../../../src/store/sqlite/engine/database.ts";
import { METHODS } from "../../../src/store/sqlite/methods.ts";
import type { StoreMethod } from "../../../src/store/store.ts";
import { isGrowing, watched } from "./query_plans.ts";
import { admitted } from "../../helpers/admitted.ts";
import { eventIdOf, sourceEvent } from "../../helpers/source_event_records.ts";
import { accept, idOf, PLAN, step, taskIdOf } from "../../helpers/store_records.ts";

const T1 = taskIdOf(1);
const AUDIT: AuditStart = {
  id: "01J00000000000000000AAAAA1",
  createdAt: 1000,
  action: "execute" as const,
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
const END = { result: "ok", finishedAt: 9, stderr: "" } as const;
const DELIVERY = {
  project: "default",
  trigger: "push",
  source: "webhook",
  via: "http",
  receivedAt: 5,
  remote: "r",
  secretStore: "",
  secretKey: "",
  taskId: "",
  bodyBytes: 0,
  durationMs: 0,
  reason: "",
  detail: { headerNames: [], stages: {} },
} as const;
const NOTHING = { headers: {}, body: new Uint8Array(), url: "" };
const BINDING = {
  project: "default",
  trigger: "chat",
  installationId: "i",
  conversationId: "c",
  threadId: "t",
  id: eventIdOf(5),
  taskId: T1,
  updatedAt: 1,
};
const TOKEN: ControlToken = {
  id: "01J00000000000000000AAAAA2",
  name: "ci",
  role: "operator" as const,
  createdAt: 1,
  expiresAt: 2,
};
const MESSAGE = {
  project: "default",
  connection: "c",
  kind: "github-comment",
  target: { number: 1 },
  key: "k",
  body: {},
  taskId: T1,
  now: 1,
};
const LISTS = [
  {},
  { project: "default" },
  { trigger: "push" },
  { project: "default", trigger: "push" },
  { project: "default", since: 1_700_000_000_000 },
].map((query) => ({ limit: 5, ...query }));

type Calls = {
  readonly [Name in StoreMethod]: (run: (typeof METHODS)[Name], db: Database) => unknown;
};

const childOf = (id: string) => ({
  id,
  project: "default",
  trigger: "push",
  workflow: "build",
  workspace: "repo",
  plan: PLAN,
  followed: true,
});

/** One after the other, on a store in which task 1 waits. */
const CALLS: Calls = {
  listNodes: (run, db) => run(db),
  drainNode: (run, db) => throws(() => run(db, "none", true), { code: "refused" }),
  reportNode: (run, db) => equal(run(db, { version: "1", policy: "", faults: [] }), false),
  forgetNode: (run, db) => throws(() => run(db, "none"), { code: "not_found" }),
  pauseTasks: (run, db) => run(db, { project: "shop", reason: "x", by: "y", pausedAt: 1 }),
  listPauses: (run, db) => run(db, 1),
  resumeTasks: (run, db) => run(db, "shop", 1),
  countRunning: (run, db) => run(db, "shop"),
  listProjectRooms: (run, db) => run(db),
  loadResources: (run, db) => run(db),
  changeResources: async (run, db) => {
    const key = { kind: "Workflow", project: "default", name: "ci" };
    const resource = { ...key, metadata: {}, spec: {}, generation: 1, createdAt: 1, updatedAt: 1 };
    await run(db, [{ op: "put", resource }, { op: "delete", key }]);
  },
  resourceVersion: (run, db) => run(db),
  adoptResources: (run, db) => run(db, 0),
  awaitAdoption: (run, db) => run(db, 0),
  recordDelivery: async (run, db) => {
    const event = admitted({ outcome: "filtered", reason: "" });
    const delivery = { ...DELIVERY, id: idOf(50), status: 200 };
    await run(db, {
      delivery,
      content: NOTHING,
      events: [event],
      dedupWindowMs: 1,
      dedupKeepMs: 1,
    });
  },
  recordDeliveries: async (run, db) => {
    const events = [admitted({ outcome: "filtered", reason: "" })];
    const deliveries = [53, 54].map((n) => ({
      delivery: { ...DELIVERY, id: idOf(n), status: 200 },
      events,
    }));
    await run(db, { deliveries, content: NOTHING, dedupWindowMs: 1, dedupKeepMs: 1 });
  },
  recordHandshake: (run, db) =>
    run(db, { ...DELIVERY, id: idOf(51), outcome: "handshake", status: 200 }, NOTHING),
  recordRejections: async (run, db) => {
    const delivery = { ...DELIVERY, id: idOf(52), outcome: "rejected", status: 401 } as const;
    await run(db, [{ delivery, content: NOTHING }], { records: 1, contents: 0 });
  },
  listDeliveries: async (run, db) => {
    for (const outcome of [undefined, "accepted", "rejected", "failed"] as const) {
      for (const query of LISTS) {
        await run(db, outcome === undefined ? query : { ...query, outcome });
      }
    }
  },
  findDeliveries: (run, db) => run(db, "01"),
  readDelivery: (run, db) => run(db, idOf(1)),
  readDeliveries: (run, db) => run(db, [idOf(1), idOf(2)]),
  listHeaderValues: (run, db) =>
    run(db, { project: "default", header: "x-id", since: 5, before: idOf(60), limit: 5 }),
  recordSourceEvent: (run, db) => run(db, sourceEvent(60)),
  claimSourceEvents: (run, db) => run(db, { limit: 5, now: 100, staleMs: 50, busy: ["a/b"] }),
  routeSourceEvent: (run, db) =>
    run(db, eventIdOf(60), { to: "nowhere", state: "ignored", reason: "" }, 100),
  postponeSourceEvent: (run, db) => run(db, eventIdOf(60), { reason: "", dueAt: 5, counts: true }),
  replaySourceEvent: (run, db) => run(db, eventIdOf(60), 5),
  listSourceEvents: async (run, db) => {
    for (const query of LISTS) await run(db, query);
    await run(db, { limit: 5, project: "default", state: "failed" });
  },
  findSourceEvents: (run, db) => run(db, "01"),
  findEventOfDelivery: (run, db) => run(db, idOf(60)),
  pruneSourceEvents: (run, db) => run(db, { before: 1e15, limit: 5 }),
  findThreadOfTask: (run, db) => run(db, T1),
  bindThread: (run, db) => run(db, BINDING),
  listBindings: async (run, db) => {
    for (const query of LISTS) await run(db, query);
  },
  findBindings: (run, db) => run(db, "01"),
  bindConversation: (run, db) =>
    run(db, { id: idOf(80), project: "default", name: "pr", key: "a/b#1", taskId: T1, now: 5 }),
  listConversations: async (run, db) => {
    for (const { trigger: _none, ...query } of LISTS) await run(db, query);
  },
  findConversations: (run, db) => run(db, "01"),
  recordKeyUse: (run, db) =>
    run(db, [{ project: "p", store: "s", key: "k", trigger: "t", count: 1, lastAt: 1 }]),
  listKeyUse: (run, db) => run(db, "p", "s"),
  listTasks: async (run, db) => {
    for (const state of [undefined, "pending", "failed"]) {
      for (const query of [...LISTS, { limit: 5, project: "default", workflow: "ci" }]) {
        await run(db, state === undefined ? query : { ...query, state });
      }
    }
  },
  findTasks: (run, db) => run(db, "01"),
  claimTasks: (run, db) => run(db, 5, 100),
  claimInterrupted: (run, db) => run(db),
  takeTurn: async (run, db) => {
    const asked = { taskId: T1, project: "default", now: 5 };
    const agents = [{ name: "claude", seats: 1 }];
    await run(db, { ...asked, position: 0, agents, session: "1" });
    await run(db, { ...asked, position: 0, agents, session: "1" });
    await run(db, { ...asked, position: 1, agents: [{ name: "codex" }, ...agents] });
    await run(db, { ...asked, position: 1, agents, session: "1" });
  },
  settleRun: async (run, db) => {
    const place = { taskId: T1, position: 0, project: "default", now: 5 };
    const budget = {
      scope: "agent/claude",
      unit: "runs",
      per: "day",
      limit: 1,
      perRun: 1,
    } as const;
    const budgets = [{ ...budget, fails: false, window: { startsAt: 1, endsAt: 9 } }];
    const agents = [{ name: "claude", budgets }];
    await METHODS.takeTurn(db, { ...place, agents, run: "1" });
    await METHODS.takeTurn(db, { ...place, position: 1, agents, run: "2" });
    await run(db, { ...place, run: "1", usage: {} });
  },
  askBudgetsAgain: (run, db) => run(db, "default", 5),
  listBudgetUse: (run, db) => run(db, "default"),
  noteLimit: (run, db) =>
    run(db, { project: "default", agent: "claude", until: 9, reason: "r" }, 5),
  listAgentUse: (run, db) => run(db, "default", 5),
  parkTask: async (run, db) => {
    await run(db, T1, { steps: [step(0, "running")], until: 50, now: 5 });
    await METHODS.findTasks(db, T1);
    await METHODS.claimTasks(db, 5, 100);
  },
  openWait: async (run, db) => {
    const parts = [{ kind: "time", dueAt: 9e15, isRelative: true }] as const;
    const asked = { taskId: T1, position: 0, round: 1, project: "default", parts };
    await run(db, { ...asked, now: 5 });
    await run(db, { ...asked, position: 1, now: 5 });
    await run(db, { ...asked, position: 1, now: -1e9 });
  },
  endWait: (run, db) =>
    run(db, { taskId: T1, position: 0, end: { by: "hand", who: "ada", reason: "" }, now: 6 }),
  answerWait: async (run, db) => {
    const digest = "0".repeat(64);
    const asked = {
      digest,
      ask: "Deploy?",
      fields: {},
      by: ["ada"],
      need: 2,
      fourEyes: false,
      protection: "none",
    };
    const place = { taskId: T1, position: 1, round: 7 };
    const parts = [{ kind: "approval", dueAt: 9e15, isRelative: true, asked }] as const;
    await METHODS.openWait(db, { ...place, project: "default", parts, now: 5 });
    const answer = {
      ...place,
      digest,
      comment: "",
      fields: {},
      now: 6,
      identities: [],
      gone: [],
      mayBy: ["ada"],
      startedBy: [],
      surface: "cli",
      answer: "approved",
    } as const;
    await run(db, { ...answer, key: "person:ada", person: "ada", called: "ada" });
    await METHODS.findApproval(db, { taskId: T1, position: 1 });
    await run(db, {
      ...answer,
      key: "person:bob",
      person: "bob",
      called: "bob",
      gone: ["person:ada"],
    });
  },
  startChildren: async (run, db) => {
    const place = { taskId: T1, position: 1, round: 8, project: "default" };
    const counted = { items: 1, maxParallel: 1 };
    const parts = [{ kind: "task", dueAt: 9e15, isRelative: true, asked: counted }] as const;
    const task = { ...childOf(taskIdOf(80)), workspaceMax: 2 };
    const asked = {
      children: [{ item: 0, task, inputs: {} }],
      isShared: true,
      sharedAbove: ["repo"],
    };
    await run(db, { ...asked, wait: { ...place, parts, now: 5 } });
  },
  findNextChildren: (run, db) => run(db, taskIdOf(80)),
  listChildren: (run, db) => run(db, { taskId: T1, position: 1, round: 8, limit: 5 }),
  saveChildOutputs: (run, db) => run(db, taskIdOf(80), { said: "hello" }),
  endChild: async (run, db) => {
    await METHODS.cancelTask(db, taskIdOf(80), { reason: "", now: 6, followed: true });
    await run(db, taskIdOf(80), 7);
  },
  listLostChildren: (run, db) => run(db, 5),
  listAbandonedChildren: (run, db) => run(db, 6, 5),
  listApprovals: (run, db) => run(db, { limit: 5 }),
  findApproval: (run, db) => run(db, { taskId: T1, position: 1, round: 7 }),
  oldestApproval: (run, db) => run(db),
  endWaits: (run, db) => run(db, T1, 6),
  listWaits: async (run, db) => {
    await run(db, { project: "default", trigger: "push", limit: 5 });
    await run(db, { taskId: T1, limit: 5 });
  },
  listWaitedTriggers: (run, db) => run(db, 5),
  listWaitShapes: (run, db) => run(db, "default", "push"),
  findWaits: async (run, db) => {
    const keys = { project: "default", trigger: "push", keys: [{ shape: "s", digest: "d" }] };
    await run(db, keys);
    await run(db, { ...keys, decidedSince: 5 });
  },
  listWaitsOfDeliveries: (run, db) => run(db, [idOf(1)]),
  listFilledInboxes: (run, db) => run(db, 5),
  countWaits: (run, db) => run(db),
  endTurn: async (run, db) => {
    await run(db, T1, 5, 0);
    await run(db, T1, 5);
  },
  saveSession: (run, db) => run(db, "s", undefined),
  findSessions: (run, db) => run(db, ["s"]),
  pruneSessions: (run, db) => run(db, 1e15, 3),
  saveStep: (run, db) => run(db, T1, step(0, "succeeded")),
  beginRound: (run, db) => run(db, T1, [step(0, "waiting"), step(1, "pending")]),
  finishTask: (run, db) =>
    run(db, { taskId: T1, state: "failed", reason: "", now: 5, followed: true }),
  requeueTask: (run, db) => run(db, T1, { now: 5 }),
  cancelTask: (run, db) => run(db, T1, { reason: "", now: 5 }),
  retryTask: async (run, db) => {
    await run(db, {
      id: taskIdOf(90),
      of: T1,
      by: { called: "ada" },
      kept: [],
      keepDirectory: false,
      staysOnNode: false,
      now: 6,
    });
  },
  setTaskDirectory: (run, db) => run(db, T1, "/d"),
  addToInbox: (run, db) => run(db, taskIdOf(90), {}, 1),
  listInbox: (run, db) => run(db, T1),
  listUnread: (run, db) => run(db, T1),
  replayUnread: async (run, db) => equal(await run(db, T1, 1), 0),
  listTaskEnds: (run, db) => run(db, 5),
  forgetTaskEnd: (run, db) => run(db, T1, []),
  addToOutbox: async (run, db) => {
    await run(db, [{ ...MESSAGE, id: idOf(70) }, { ...MESSAGE, id: idOf(71), connection: "" }]);
    const rounds = { place: "o/r#1", most: 1, byPerson: false };
    const counted = { output: "push", max: 2, rounds };
    const held = { ...MESSAGE, held: "always", content: { pack: [new Uint8Array(1)] } };
    await run(db, [{ ...held, id: idOf(72), counted: { ...counted, unit: "1" } }]);
    await run(db, [
      { ...MESSAGE, id: idOf(73), counted: { output: "pull", max: 2, unit: "1" } },
      { ...MESSAGE, id: idOf(74), counted: { ...counted, unit: "2" } },
    ]);
  },
  claimMessages: (run, db) => run(db, { limit: 5, now: 100, busy: ["a/b"] }),
  finishMessage: async (run, db) => {
    await run(db, idOf(70), { state: "pending", reason: "", nextAt: 5, certain: true }, 5);
    await run(db, idOf(70), { state: "sent", externalId: "1" }, 5);
  },
  listMessages: async (run, db) => {
    for (const query of LISTS) {
      await run(db, query);
      await run(db, { ...query, state: "failed" });
    }
  },
  findMessages: (run, db) => run(db, "01"),
  retryMessage: (run, db) => run(db, idOf(70), { now: 5, forget: true }),
  dropMessage: (run, db) => run(db, idOf(71), { reason: "", now: 5 }),
  expireHeld: async (run, db) => {
    for (const now of [1e14, 1e15]) await run(db, { now, reason: "", limit: 3 });
  },
  releaseMessage: (run, db) => run(db, idOf(71), 5),
  readContent: (run, db) => run(db, idOf(70), "pack", 0),
  listOutputs: (run, db) => run(db, T1),
  outboxCounts: (run, db) => run(db),
  pruneOutbox: (run, db) => run(db, { before: 1e15, limit: 3 }),
  pruneTasks: async (run, db) => {
    await run(db, { before: 1, keep: 0, limit: 3 });
    await run(db, { before: 1e15, limit: 3 });
  },
  pruneDeliveries: (run, db) => run(db, { before: 1e15, limit: 3 }),
  pruneRecords: (run, db) => run(db, { tasks: [T1], deliveries: [idOf(1)], before: 1 }),
  deleteBodies: (run, db) => run(db, { ids: [idOf(1), idOf(54)], before: 1e15, now: 5 }),
  listRecordTriggers: (run, db) => run(db),
  emptyLog: (run, db) => run(db),
  deleteTask: async (run, db) => {
    await METHODS.cancelTask(db, taskIdOf(90), { reason: "", now: 5 });
    await run(db, taskIdOf(90), { dryRun: false });
  },
  deleteDelivery: async (run, db) => {
    const delivery = { ...DELIVERY, id: idOf(55), outcome: "handshake", status: 200 } as const;
    await METHODS.recordHandshake(db, delivery, NOTHING);
    await run(db, delivery.id, { cascade: true, dryRun: false });
  },
  listConnectionStates: (run, db) => run(db),
  noteConnection: (run, db) =>
    run(db, { project: "default", name: "c", createdAt: 1 }, { fault: null }, 5),
  findCursor: (run, db) => run(db, "c"),
  moveCursor: (run, db) => run(db, { name: "c", at: 1 }),
  claimRun: (run, db) => run(db, { name: "c", at: 2 }),
  findPlan: (run, db) => run(db, T1),
  startAudit: (run, db) => run(db, AUDIT),
  finishAudit: (run, db) => run(db, AUDIT.id, END),
  recordAudit: (run, db) => run(db, [{ start: { ...AUDIT, id: `${AUDIT.id}B` }, end: END }]),
  claimInterruptedAudits: (run, db) => run(db),
  listAudit: async (run, db) => {
    for (const query of [{}, { trigger: "t" }, { outcome: "failed" }, { since: 5 }]) {
      await run(db, { limit: 5, ...query });
      await run(db, { limit: 5, trigger: "t", outcome: "ok" });
    }
  },
  findAudit: (run, db) => run(db, "01"),
  findIds: async (run, db) => {
    for (const name of Object.keys(RECORD_TABLES) as NumberedRecord[]) {
      await run(db, name, "NOTHING", { limit: 5, newest: 9 });
    }
  },
  nthId: async (run, db) => {
    for (const name of Object.keys(RECORD_TABLES) as NumberedRecord[]) {
      await run(db, name, { nth: 3, before: "01K" });
      await run(db, name, { nth: 3, after: "01K", oldestFirst: true });
    }
  },
  verifyAudit: (run, db) => run(db),
  pruneAudit: (run, db) => run(db, 1, 0),
  recordControl: (run, db) =>
    run(db, {
      id: AUDIT.id,
      createdAt: 1,
      operation: "o",
      target: "t",
      caller: "c",
      role: "admin",
      result: "started",
      reason: "",
    }),
  finishControl: (run, db) => run(db, AUDIT.id, { result: "done", reason: "", finishedAt: 5 }),
  listControl: (run, db) => run(db, { limit: 5, since: 5, caller: "ada" }),
  createToken: (run, db) => run(db, TOKEN, "hash"),
  findToken: (run, db) => run(db, "hash"),
  listTokens: (run, db) => run(db),
  revokeToken: (run, db) => run(db, TOKEN.id, 5),
  counts: (run, db) => run(db),
  databaseSize: (run, db) => run(db),
  reclaimSpace: (run, db) => run(db, { maxBytes: 5 }),
};

/** What may look at a whole table, and why. */
const WHOLE_TABLES: readonly { readonly sql: RegExp; readonly why: string }[] = [
  { sql: /^SELECT \* FROM resources ORDER BY/, why: "at the start, all of them are wanted" },
  { sql: / FROM connections ORDER BY/, why: "they are made by hand, and all of them are wanted" },
  {
    sql: /FROM plugin_audit_chain ORDER BY position$|^SELECT id, result FROM plugin_audit$/,
    why: "an operator asks whether anything was changed, and that is in every row",
  },
  { sql: /FROM control_tokens ORDER BY id DESC$/, why: "tokens are made by hand" },
  {
    sql: /FROM outbox WHERE EXISTS \(SELECT 1 FROM tasks WHERE .* ORDER BY id DESC LIMIT \?$/,
    why: "an operator asks for the messages of one trigger, over all projects",
  },
  {
    sql: /FROM (plugin_audit|plugin_audit_chain) ORDER BY \w+ (LIMIT \?|DESC LIMIT 1)$/,
    why: "a few at one end",
  },
];

Deno.test("no statement of the store grows with what is stored", async () => {
  await watched(async (db) => {
    const record: Parameters<typeof accept>[0] = {
      recordDelivery: (given) => Promise.resolve(METHODS.recordDelivery(db, given)),
    };
    const task = { dedupKey: "k", workspaceMax: 2 };
    await accept(record, 1, { task });
    db.plans();
    const known = new Set<RegExp>();
    for (const [name, call] of Object.entries(CALLS)) {
      const run = METHODS[name as StoreMethod] as never;
      await (call as (run: never, db: Database) => unknown)(run, db);
      const growing = db.plans().filter(isGrowing).filter(({ sql }) => {
        const allowed = WHOLE_TABLES.find((one) => one.sql.test(sql));
        if (allowed !== undefined) known.add(allowed.sql);
        return allowed === undefined;
      });
      deepEqual(growing, [], name);
    }
    ok(known.size === WHOLE_TABLES.length, "each exception is still needed");
  });
});
