/**
 * Every list of records in both directions, within times and ids, and step by step; and the filters
 * of deliveries, tasks and chat events.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import type { DeliveryQuery } from "../../../src/store/delivery_records.ts";
import type { ListQuery } from "../../../src/store/list_query.ts";
import type { Store } from "../../../src/store/store.ts";
import type { TaskQuery } from "../../../src/store/task_records.ts";
import { admitted } from "../../helpers/admitted.ts";
import { sourceEvent } from "../../helpers/source_event_records.ts";
import { accept, idOf, PLAN, reject, taskIdOf } from "../../helpers/store_records.ts";
import { eachStore, numberOf, range } from "./each_store.ts";

/** The time that the ids of `idOf` say. */
const MADE = 1_717_986_918_399;

/** Fills a list with records 1 to 9, whose times are `MADE` and their number in seconds. */
interface Filled {
  readonly record:
    | "delivery"
    | "task"
    | "source-event"
    | "binding"
    | "conversation"
    | "outbox"
    | "audit"
    | "control-audit";
  readonly fill: (store: Store, n: number, at: number) => Promise<unknown>;
  readonly list: (store: Store, query: ListQuery) => Promise<readonly { readonly id: string }[]>;
}

const LISTS: readonly Filled[] = [
  {
    record: "delivery",
    fill: (store, n, receivedAt) => accept(store, n, { receivedAt }),
    list: (store, query) => store.listDeliveries(query),
  },
  {
    record: "task",
    fill: (store, n, receivedAt) => accept(store, n, { receivedAt, taskId: idOf(n) }),
    list: (store, query) => store.listTasks(query),
  },
  {
    record: "source-event",
    fill: (store, n, receivedAt) =>
      store.recordSourceEvent(sourceEvent(n, { id: idOf(n), receivedAt, trigger: "push" })),
    list: (store, query) => store.listSourceEvents(query),
  },
  {
    record: "binding",
    fill: (store, n, updatedAt) =>
      store.bindThread({
        id: idOf(n),
        project: "default",
        trigger: "push",
        installationId: "A",
        conversationId: "C",
        threadId: String(n),
        taskId: taskIdOf(n),
        updatedAt,
      }),
    list: (store, query) => store.listBindings(query),
  },
  {
    record: "conversation",
    fill: async (store, n, now) => {
      await accept(store, n, { receivedAt: now });
      const bound = { project: "default", name: "push", key: String(n), taskId: taskIdOf(n), now };
      await store.bindConversation({ id: idOf(n), ...bound });
    },
    list: (store, query) => store.listConversations(query),
  },
  {
    record: "outbox",
    fill: async (store, n, now) => {
      await accept(store, n, { receivedAt: now });
      await store.addToOutbox([{
        id: idOf(n),
        project: "default",
        connection: "c",
        kind: "github-comment",
        target: { n },
        key: "",
        body: {},
        taskId: taskIdOf(n),
        now,
      }]);
    },
    list: (store, query) => store.listMessages(query),
  },
  {
    record: "audit",
    fill: (store, n, createdAt) =>
      store.startAudit({
        id: idOf(n),
        createdAt,
        action: "execute",
        crdKind: "Hook",
        pluginName: "check",
        command: "x",
        pluginType: "hook",
        phase: "",
        trigger: "push",
        deliveryId: "",
        role: "system",
        policyMode: "allowlist",
      }),
    list: (store, query) => store.listAudit(query),
  },
  {
    record: "control-audit",
    fill: (store, n, createdAt) =>
      store.recordControl({
        id: idOf(n),
        createdAt,
        operation: "apply",
        target: "",
        caller: "socket",
        role: "admin",
        result: "done",
        reason: "",
      }),
    list: (store, query) => store.listControl(query),
  },
];

const AT = (n: number) => MADE + n * 1000;

/** What a list of records 1 to 9 gives for each query. */
const CASES: readonly (readonly [Omit<ListQuery, "limit">, limit: number, numbers: number[]])[] = [
  [{}, 3, [9, 8, 7]],
  [{ oldestFirst: true }, 3, [1, 2, 3]],
  [{ before: idOf(5) }, 2, [4, 3]],
  [{ after: idOf(5) }, 2, [9, 8]],
  [{ after: idOf(5), oldestFirst: true }, 2, [6, 7]],
  [{ before: idOf(5), oldestFirst: true }, 9, [1, 2, 3, 4]],
  [{ after: idOf(3), before: idOf(7) }, 9, [6, 5, 4]],
  [{ after: idOf(3), before: idOf(7), oldestFirst: true }, 2, [4, 5]],
  [{ after: idOf(9) }, 9, []],
  [{ after: `${idOf(1).slice(0, 20)}~` }, 9, []],
  [{ before: idOf(1) }, 9, []],
  [{ to: idOf(8) }, 9, [9, 8]],
  [{ to: idOf(2), oldestFirst: true }, 9, [1, 2]],
  [{ before: idOf(5), to: idOf(4) }, 9, [4]],
  [{ after: idOf(5), to: idOf(6), oldestFirst: true }, 9, [6]],
  [{ since: AT(7) }, 9, [9, 8, 7]],
  [{ until: AT(2) }, 9, [2, 1]],
  [{ since: AT(4), until: AT(6) }, 9, [6, 5, 4]],
  [{ since: AT(4), until: AT(6), oldestFirst: true }, 2, [4, 5]],
  [{ since: AT(4), until: AT(8), before: idOf(8), after: idOf(5) }, 9, [7, 6]],
  [{ ids: [idOf(3), idOf(8), idOf(99), idOf(5)] }, 9, [8, 5, 3]],
  [{ ids: [idOf(3), idOf(8), idOf(5)], oldestFirst: true }, 2, [3, 5]],
  [{ ids: [idOf(3), idOf(8), idOf(5)], before: idOf(8), since: AT(4) }, 9, [5]],
  [{ ids: [] }, 9, []],
];

for (const { record, fill, list } of LISTS) {
  eachStore(`${record}: lists read both ways, within ids and times`, async (store) => {
    for (const n of range(1, 10)) await fill(store, n, AT(n));
    const scopes = record === "control-audit"
      ? [{}]
      : record === "audit"
      ? [{}, { trigger: "push" }]
      : [{}, { trigger: "push" }, { project: "default" }, { project: "default", trigger: "push" }];
    for (const scope of scopes) {
      for (const [query, limit, numbers] of CASES) {
        const found = await list(store, Object.assign({ limit }, scope, query));
        const what = JSON.stringify(Object.assign({ limit }, scope, query));
        deepEqual(found.map(({ id }) => numberOf(id)), numbers, what);
      }
    }
  });

  eachStore(`${record}: nthId counts in the order of the list`, async (store) => {
    for (const n of range(1, 10)) await fill(store, n, AT(n));
    const nth = (range: Parameters<Store["nthId"]>[1]) => store.nthId(record, range);
    equal(await nth({ nth: 1 }), idOf(9));
    equal(await nth({ nth: 9 }), idOf(1));
    equal(await nth({ nth: 10 }), undefined);
    equal(await nth({ nth: 2, before: idOf(5) }), idOf(3));
    equal(await nth({ nth: 2, after: idOf(5), oldestFirst: true }), idOf(7));
    equal(await nth({ nth: 4, after: idOf(5) }), idOf(6));
    equal(await nth({ nth: 5, after: idOf(5) }), undefined);
  });
}

const numbers = (found: readonly { readonly id: string }[]) => found.map(({ id }) => numberOf(id));

eachStore("listDeliveries: by reason, status, sender, key and duration", async (store) => {
  for (const n of [1, 2]) await accept(store, n, n === 2 ? { project: "shop" } : {});
  await reject(store, [{ n: 3 }, { n: 4, trigger: "other" }, { n: 5, outcome: "handshake" }], 9);
  const delivery = {
    id: idOf(6),
    project: "default",
    trigger: "push",
    source: "webhook",
    via: "http",
    receivedAt: AT(6),
    status: 202,
    remote: "2001:db8::1",
    secretStore: "github",
    secretKey: "old",
    bodyBytes: 1,
    durationMs: 250,
    detail: { headerNames: [], stages: {} },
  } as const;
  await store.recordDelivery({
    delivery,
    content: { headers: {}, body: new Uint8Array(1), url: "" },
    events: [admitted({ outcome: "filtered", reason: "The Condition is 100% false_" })],
    dedupWindowMs: 1,
    dedupKeepMs: 1,
  });
  const list = async (query: Partial<DeliveryQuery>) =>
    numbers(await store.listDeliveries({ limit: 9, ...query }));
  deepEqual(await list({ reason: "key_MATCHES" }), [5, 4, 3]);
  deepEqual(
    await list({ reason: "condition IS 100% false_" }),
    [6],
    "no pattern: signs as they are",
  );
  deepEqual(await list({ reason: "1%f" }), []);
  deepEqual(await list({ reason: "" }), [6, 5, 4, 3, 2, 1]);
  deepEqual(await list({ status: 401 }), [5, 4, 3]);
  deepEqual(await list({ status: 200, project: "shop" }), [2]);
  deepEqual(await list({ remote: "2001:db8::1" }), [6]);
  deepEqual(await list({ remote: "192.0.2" }), [], "the whole address");
  deepEqual(await list({ key: "old", trigger: "push" }), [6]);
  deepEqual(await list({ key: "current", outcome: "rejected" }), [4, 3]);
  deepEqual(await list({ minDurationMs: 250 }), [6]);
  deepEqual(await list({ minDurationMs: 251 }), []);
  deepEqual(await list({ status: 401, trigger: "push", oldestFirst: true, limit: 1 }), [3]);
  deepEqual(await list({ status: 401, trigger: "push", before: idOf(5) }), [3]);
});

eachStore("listDeliveries: those whose task failed, both ways and by what else", async (store) => {
  for (const n of range(1, 7)) {
    await accept(store, n, n % 2 === 0 ? { plan: undefined, receivedAt: AT(n) } : {});
  }
  const list = async (query: Partial<DeliveryQuery>) =>
    numbers(await store.listDeliveries({ limit: 9, outcome: "failed", ...query }));
  deepEqual(await list({}), [6, 4, 2]);
  deepEqual(await list({ oldestFirst: true, limit: 2 }), [2, 4]);
  deepEqual(await list({ after: idOf(2), oldestFirst: true, limit: 1 }), [4]);
  deepEqual(await list({ until: AT(4), project: "default" }), [4, 2]);
  deepEqual(await list({ status: 500 }), []);
  deepEqual(await list({ status: 200, before: idOf(6), trigger: "push" }), [4, 2]);
});

eachStore("listTasks: by delivery, parent and the task they retry", async (store) => {
  await accept(store, 1);
  await accept(store, 2, { project: "shop", task: { parentId: taskIdOf(1) } });
  await accept(store, 3, { task: { parentId: taskIdOf(1) } });
  await accept(store, 4, { plan: undefined });
  const now = AT(9);
  const again = { of: taskIdOf(4), kept: [], keepDirectory: false, staysOnNode: false, now };
  const planned = { workflow: "ci", workspace: "repo", plan: PLAN };
  await store.retryTask({ id: taskIdOf(5), by: { called: "ada" }, planned, ...again });
  await store.retryTask({ id: taskIdOf(6), by: { called: "ada" }, planned, ...again });
  const list = async (query: Partial<TaskQuery>) =>
    numbers(await store.listTasks({ limit: 9, ...query }));
  deepEqual(await list({ delivery: idOf(4) }), [6, 5, 4], "retries are on its event");
  deepEqual(await list({ delivery: idOf(1) }), [1]);
  deepEqual(await list({ delivery: idOf(9) }), []);
  deepEqual(await list({ parent: taskIdOf(1) }), [3, 2]);
  deepEqual(await list({ parent: taskIdOf(1), project: "shop" }), [2]);
  deepEqual(await list({ parent: taskIdOf(1), oldestFirst: true, limit: 1 }), [2]);
  deepEqual(await list({ retryOf: taskIdOf(4) }), [6, 5]);
  deepEqual(await list({ retryOf: taskIdOf(4), before: taskIdOf(6) }), [5]);
  deepEqual(await list({ retryOf: taskIdOf(1) }), []);
  deepEqual(await list({ delivery: idOf(4), state: "failed" }), [4]);
  deepEqual(await list({ delivery: idOf(4), retryOf: taskIdOf(4), trigger: "push" }), [6, 5]);
  deepEqual(await list({ delivery: idOf(4), trigger: "other" }), []);
});

eachStore("listTasks: by the session of a step", async (store) => {
  for (const n of [1, 2, 3]) await accept(store, n);
  await store.claimTasks(9, AT(4));
  const work = (n: number, position: number, session: string) =>
    store.saveStep(taskIdOf(n), {
      position,
      id: `s${position}`,
      state: "succeeded",
      reason: "",
      session,
    });
  await work(1, 0, "a-1");
  await work(2, 0, "a-2");
  await work(3, 0, "a-1");
  await work(3, 1, "a-1");
  const list = async (query: Partial<TaskQuery>) =>
    numbers(await store.listTasks({ limit: 9, ...query }));
  deepEqual(await list({ session: "a-1" }), [3, 1]);
  deepEqual(await list({ session: "a-1", project: "default", before: taskIdOf(3) }), [1]);
  deepEqual(await list({ session: "a-1", delivery: idOf(3) }), [3]);
  deepEqual(await list({ session: "a" }), []);
});

eachStore("listSourceEvents: by thread", async (store) => {
  for (const n of range(1, 5)) {
    await store.recordSourceEvent(sourceEvent(n, { threadId: n === 3 ? "T" : "other" }));
  }
  deepEqual(numbers(await store.listSourceEvents({ limit: 9, thread: "T" })), [3]);
  deepEqual(numbers(await store.listSourceEvents({ limit: 9, thread: "T", trigger: "chat" })), [3]);
  deepEqual(numbers(await store.listSourceEvents({ limit: 9, thread: "t" })), []);
});
