/**
 * Deliveries: what is stored of them, exactly, and how they are listed and found.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import type { NewDeliveries } from "../../../src/store/delivery_records.ts";
import type { Store } from "../../../src/store/store.ts";
import { admitted } from "../../helpers/admitted.ts";
import {
  accept,
  countsOf,
  filterOut,
  idOf,
  PLAN,
  reject,
  taskIdOf,
} from "../../helpers/store_records.ts";
import { eachStore, range } from "./each_store.ts";

const ids = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id);

eachStore("recordDelivery stores the delivery and its pending task", async (store) => {
  await accept(store, 1);
  const [delivery] = await store.listDeliveries({ limit: 9 });
  equal(delivery?.id, idOf(1));
  equal(delivery?.outcome, "accepted");
  equal(delivery?.taskId, taskIdOf(1));
  equal(delivery?.secretKey, "current");
  const [task] = await store.listTasks({ limit: 9 });
  deepEqual(task, {
    id: taskIdOf(1),
    project: "default",
    trigger: "push",
    workflow: "ci",
    workspace: "repo",
    state: "pending",
    reason: "",
    deliveryId: idOf(1),
    createdAt: 1_700_000_000_001,
    restarts: 0,
    parentId: "",
    rootId: "",
    retryOf: "",
    depth: 0,
    directory: "",
    cancelReason: "",
    activeMs: 0,
    readiness: { is: "ready" },
    steps: [
      { position: 0, id: "build", state: "pending", reason: "" },
      { position: 1, id: "deploy", state: "pending", reason: "" },
    ],
  });
  deepEqual(await countsOf(store), { pending: 1, running: 0 });
});

eachStore("recordDelivery without a task stores the record alone", async (store) => {
  await filterOut(store, 1);
  equal((await store.listDeliveries({ limit: 9 }))[0]?.outcome, "filtered");
  deepEqual(await store.listTasks({ limit: 9 }), []);
});

eachStore(
  "recordDelivery is one transaction: a task that cannot be stored takes the delivery along",
  async (store) => {
    await accept(store, 1);
    await rejects(accept(store, 2, { taskId: taskIdOf(1) }));
    deepEqual(ids(await store.listDeliveries({ limit: 9 })), [idOf(1)]);
    await rejects(accept(store, 1, { taskId: taskIdOf(2) }));
    deepEqual(ids(await store.listTasks({ limit: 9 })), [taskIdOf(1)]);
  },
);

const MEANT = { project: "default", source: "webhook", via: "http" as const };

/** Delivery `n` of the trigger `t<n>`, with or without a task. */
function ofTrigger(n: number, starts: boolean): NewDeliveries["deliveries"][number] {
  const trigger = `t${n}`;
  const task = { id: taskIdOf(n), project: "default", trigger, workflow: "ci", workspace: "repo" };
  return {
    delivery: {
      ...MEANT,
      id: idOf(n),
      trigger,
      receivedAt: 1_700_000_000_000,
      status: 200,
      remote: "192.0.2.1",
      secretStore: "github",
      secretKey: "current",
      bodyBytes: 3,
      durationMs: 1,
      detail: { headerNames: ["a"], stages: {} },
    },
    events: [
      starts
        ? admitted({ outcome: "accepted", task: { ...task, plan: PLAN, dedupKey: "k" } })
        : admitted({ outcome: "filtered", reason: "no" }),
    ],
  };
}

const SHARED = {
  content: { headers: { a: "b" }, body: new Uint8Array([1, 0, 255]), url: "http://a/webhook/hub" },
  dedupWindowMs: 1000,
  dedupKeepMs: 1000,
};

eachStore(
  "recordDeliveries stores each trigger's delivery, all with the one content",
  async (store) => {
    const deliveries = [ofTrigger(1, true), ofTrigger(2, false), ofTrigger(3, true)];
    const outcomes = await store.recordDeliveries({ ...SHARED, deliveries });
    deepEqual(outcomes.map((one) => one.map(({ outcome, taskId }) => [outcome, taskId])), [
      [["accepted", taskIdOf(1)]],
      [["filtered", undefined]],
      [["accepted", taskIdOf(3)]],
    ]);
    for (const n of [1, 2, 3]) {
      deepEqual(
        (await store.readDelivery(idOf(n)))?.content,
        SHARED.content,
      );
    }
    deepEqual(ids(await store.listDeliveries({ trigger: "t2", limit: 9 })), [idOf(2)]);
    deepEqual(
      (await store.claimTasks(9, 1)).tasks.map(({ payload, headers, request }) => [
        [...payload],
        headers,
        request.url,
      ]),
      [1, 3].map(() => [[1, 0, 255], { a: "b" }, "http://a/webhook/hub"]),
    );
  },
);

eachStore("recordDeliveries knows duplicates trigger by trigger", async (store) => {
  await store.recordDeliveries({
    ...SHARED,
    deliveries: [ofTrigger(1, true), ofTrigger(2, false)],
  });
  const again = (n: number, of: number) => {
    const { delivery, events } = ofTrigger(of, true);
    const moved = events.map((event) =>
      event.outcome === "accepted"
        ? admitted({ ...event, task: { ...event.task, id: taskIdOf(n) } })
        : event
    );
    return { delivery: { ...delivery, id: idOf(n) }, events: moved };
  };
  const outcomes = await store.recordDeliveries({
    ...SHARED,
    deliveries: [again(11, 1), again(12, 2)],
  });
  deepEqual(outcomes.flat().map(({ outcome, duplicateOf }) => [outcome, duplicateOf]), [
    ["duplicate", idOf(1)],
    ["accepted", undefined],
  ]);
});

eachStore(
  "recordDeliveries is one transaction: one that cannot be stored takes all along",
  async (store) => {
    await accept(store, 3);
    await rejects(store.recordDeliveries({
      ...SHARED,
      deliveries: [ofTrigger(1, true), ofTrigger(2, true), ofTrigger(3, true)],
    }));
    deepEqual(ids(await store.listDeliveries({ limit: 9 })), [idOf(3)]);
    deepEqual(ids(await store.listTasks({ limit: 9 })), [taskIdOf(3)]);
  },
);

eachStore(
  "pruneDeliveries keeps the content for as long as a task of any of them needs it",
  async (store) => {
    const deliveries = [ofTrigger(1, true), ofTrigger(2, false), ofTrigger(3, false)];
    await store.recordDeliveries({ ...SHARED, deliveries });
    const prune = () => store.pruneDeliveries({ before: 1e15, limit: 99 });
    equal(await prune(), 1, "the delivery that neither has a task nor keeps the content");
    deepEqual((await store.readDelivery(idOf(1)))?.content, SHARED.content);
    await store.claimTasks(9, 1);
    await store.finishTask({ taskId: taskIdOf(1), state: "succeeded", reason: "", now: 2 });
    equal((await store.pruneTasks({ before: 1e15, limit: 9 })).length, 1);
    equal(await prune(), 2, "both in one round");
    deepEqual(await store.listDeliveries({ limit: 9 }), []);
  },
);

eachStore("claimTasks gives the exact bytes of body and headers", async (store) => {
  const body = new Uint8Array([0, 0xff, 0xfe, 10, 0x7b, 0]);
  const headers = Object.fromEntries([["x-a", "é\u0000\n\"'"], ["__proto__", "own"], [
    "empty",
    "",
  ]]);
  await accept(store, 1, { body, headers });
  await accept(store, 2, { body, payload: new Uint8Array([1, 2]) });
  await accept(store, 3, { body: new Uint8Array() });
  const { tasks: claimed } = await store.claimTasks(9, 5);
  deepEqual(claimed.map(({ payload }) => [...payload]), [[...body], [1, 2], []]);
  deepEqual(Object.entries(claimed[0]?.headers ?? {}), Object.entries(headers));
});

eachStore("a body of 25 MiB comes back whole", async (store) => {
  const body = new Uint8Array(25 * 1024 * 1024).fill(7);
  await accept(store, 1, { body });
  const { tasks: [claimed] } = await store.claimTasks(1, 5);
  equal(claimed?.payload.length, body.length);
  ok(claimed?.payload.every((byte) => byte === 7));
});

eachStore("texts from outside stay what they are", async (store) => {
  const names = ["'; DROP TABLE tasks; --", "%", "_", "a\nb", "ünï", "\u{1f600}", ""];
  await Promise.all(names.map((trigger, n) => accept(store, n, { trigger })));
  for (const [n, trigger] of names.entries()) {
    deepEqual(ids(await store.listTasks({ trigger, limit: 9 })), [taskIdOf(n)]);
    deepEqual((await store.listDeliveries({ trigger, limit: 9 }))[0]?.trigger, trigger);
  }
});

eachStore("recordRejections keeps the newest of each trigger", async (store) => {
  await accept(store, 1);
  await reject(store, range(10, 20).map((n) => ({ n })), 3);
  await reject(store, range(20, 25).map((n) => ({ n, trigger: "other" })), 3);
  const kept = ids(await store.listDeliveries({ limit: 99 }));
  deepEqual(kept, [24, 23, 22, 19, 18, 17, 1].map(idOf));
  await reject(store, [{ n: 30 }, { n: 31, trigger: "other" }], 3);
  deepEqual(
    ids(await store.listDeliveries({ limit: 99 })),
    [31, 30, 24, 23, 19, 18, 1].map(idOf),
  );
  await reject(store, [{ n: 40 }], 0);
  deepEqual(ids(await store.listDeliveries({ trigger: "push", limit: 99 })), [idOf(1)]);
  deepEqual(await store.listTasks({ limit: 9 }).then(ids), [taskIdOf(1)]);
});

eachStore("recordRejections keeps the newest of each outcome, refused or not", async (store) => {
  await reject(store, range(10, 15).map((n) => ({ n })), 3);
  await reject(store, range(20, 25).map((n) => ({ n, outcome: "handshake" })), 3);
  deepEqual(ids(await store.listDeliveries({ limit: 99 })), [24, 23, 22, 14, 13, 12].map(idOf));
});

eachStore("lists are newest first, limited, by project and by trigger", async (store) => {
  const order = [5, 2, 9, 1, 7];
  for (const n of order) {
    await accept(store, n, { project: n > 4 ? "shop" : "default", trigger: `t${n % 2}` });
  }
  const tasks = async (query: Parameters<Store["listTasks"]>[0]) =>
    ids(await store.listTasks(query));
  deepEqual(await tasks({ limit: 99 }), [9, 7, 5, 2, 1].map(taskIdOf));
  deepEqual(await tasks({ limit: 2 }), [9, 7].map(taskIdOf));
  deepEqual(await tasks({ project: "shop", limit: 9 }), [9, 7, 5].map(taskIdOf));
  deepEqual(await tasks({ project: "default", trigger: "t1", limit: 9 }), [1].map(taskIdOf));
  deepEqual(await tasks({ trigger: "t1", limit: 9 }), [9, 7, 5, 1].map(taskIdOf));
  deepEqual(await tasks({ project: "nowhere", limit: 9 }), []);
  deepEqual(
    ids(await store.listDeliveries({ project: "shop", limit: 2 })),
    [9, 7].map(idOf),
  );
});

eachStore("findTasks and findDeliveries give none, one or two by a prefix", async (store) => {
  for (const n of [123_401, 123_402, 123_403, 999_999]) await accept(store, n);
  const prefix = taskIdOf(0).slice(0, 4);
  deepEqual(ids(await store.findTasks(`${prefix}99`)), [taskIdOf(999_999)]);
  deepEqual(ids(await store.findTasks(taskIdOf(123_402))), [taskIdOf(123_402)]);
  deepEqual(ids(await store.findTasks(`${prefix}1234`)), [taskIdOf(123_401), taskIdOf(123_402)]);
  deepEqual(ids(await store.findDeliveries(idOf(999_999).slice(0, 22))), [idOf(999_999)]);
  for (const nothing of [`${taskIdOf(123_402)}0`, "%", "_", "zzz", "'", "\u{10ffff}"]) {
    deepEqual(await store.findTasks(nothing), [], nothing);
    deepEqual(await store.findDeliveries(nothing), [], nothing);
  }
});

eachStore(
  "readDeliveries gives those that there are, newest first, with their content",
  async (store) => {
    for (const n of [1, 2, 3]) await accept(store, n, { body: new Uint8Array([n, 255]) });
    const found = await store.readDeliveries([idOf(1), idOf(9), idOf(3)]);
    deepEqual(found, [await store.readDelivery(idOf(3)), await store.readDelivery(idOf(1))]);
    deepEqual([...found[0]?.content?.body ?? []], [3, 255]);
    deepEqual(await store.readDeliveries([]), []);
    await store.recordDeliveries({
      ...SHARED,
      deliveries: [ofTrigger(4, true), ofTrigger(5, false)],
    });
    const shared = await store.readDeliveries([idOf(4), idOf(5)]);
    deepEqual(shared.map(({ content }) => content), [SHARED.content, SHARED.content]);
  },
);

eachStore("readDelivery gives what arrived, and of a handshake too", async (store) => {
  await accept(store, 1, { headers: { "x-a": "1" }, body: new Uint8Array([0, 255]) });
  const stored = await store.readDelivery(idOf(1));
  deepEqual(stored?.delivery, (await store.listDeliveries({ limit: 1 }))[0]);
  deepEqual(stored?.content?.headers, { "x-a": "1" });
  deepEqual([...stored?.content?.body ?? []], [0, 255]);
  equal(await store.readDelivery(idOf(2)), undefined);
  if (stored === undefined) return;
  const handshake = { ...stored.delivery, id: idOf(2), outcome: "handshake", taskId: "" } as const;
  const body = new TextEncoder().encode("hello");
  await store.recordHandshake(handshake, { headers: {}, body, url: "" });
  const again = await store.readDelivery(idOf(2));
  deepEqual(again?.delivery, handshake);
  deepEqual([...again?.content?.body ?? []], [...body]);
  equal((await store.listTasks({ limit: 9 })).length, 1, "it starts nothing");
});

eachStore("refused requests are listed by their outcome and read like others", async (store) => {
  await reject(store, range(1, 4).map((n) => ({ n })), 9);
  const kept = await Promise.all(range(1, 4).map((n) => store.readDelivery(idOf(n))));
  deepEqual(kept.map((one) => [one?.delivery.outcome, one?.delivery.status]), [
    ...range(1, 4).map(() => ["rejected", 401]),
  ]);
  deepEqual(
    ids(await store.listDeliveries({ outcome: "rejected", limit: 9 })),
    [3, 2, 1].map(idOf),
  );
});

eachStore("the values of a header are found, newest first, page by page", async (store) => {
  for (const n of [1, 2, 3, 4]) {
    await accept(store, n, {
      headers: { "x-id": `v${n}`, "x.other": "o" },
      ...(n === 2 ? { project: "shop" } : {}),
    });
  }
  await accept(store, 5, { headers: { "X-ID": "another name" } });
  const query = { project: "default", header: "x-id", since: 0, limit: 3 };
  const first = await store.listHeaderValues(query);
  deepEqual(first, { values: ["v4", "v3"], before: idOf(3) });
  deepEqual(await store.listHeaderValues({ ...query, before: idOf(3) }), { values: ["v1"] });
  const late = { ...query, since: Date.UTC(2200, 0, 1) };
  deepEqual(await store.listHeaderValues(late), { values: [] });
  deepEqual((await store.listHeaderValues({ ...query, header: "x.other" })).values.length, 2);
});

eachStore("a rejected delivery does not count as one that has come", async (store) => {
  await reject(store, [{ n: 1, headers: { "x-id": "v" } }], 9);
  const query = { project: "default", header: "x-id", since: 0, limit: 3 };
  deepEqual(await store.listHeaderValues(query), { values: [] });
});
