/**
 * The outbox: in what order messages are claimed, which one replaces another, what is known after
 * an end without an answer.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import type { MessageResult, NewMessage } from "../../../src/store/outbox_records.ts";
import type { Store } from "../../../src/store/store.ts";
import { accept, idOf, taskIdOf } from "../../helpers/store_records.ts";
import { eachStore, numberOf } from "./each_store.ts";

function message(n: number, given: Partial<NewMessage> = {}): NewMessage {
  return {
    id: idOf(n),
    project: "default",
    connection: "tidepool",
    kind: "github-comment",
    target: { repository: "o/r", number: 1 },
    key: "",
    body: { text: `text ${n}` },
    taskId: "",
    now: 1000 + n,
    ...given,
  };
}

async function claim(store: Store, busy: readonly string[] = [], now = 5000): Promise<number[]> {
  const { messages } = await store.claimMessages({ limit: 50, now, busy });
  return messages.map((one) => numberOf(one.message.id));
}

const SENT: MessageResult = { state: "sent", externalId: "77" };
const finish = (store: Store, n: number, result: MessageResult = SENT) =>
  store.finishMessage(idOf(n), result, 6000);

eachStore("a message is stored whole, and found again", async (store) => {
  const given = message(1, { key: "k", taskId: taskIdOf(9) });
  await store.addToOutbox([given]);
  const { now, ...rest } = given;
  const stored = {
    ...rest,
    state: "pending",
    tries: 0,
    nextAt: 0,
    externalId: "",
    reason: "",
    createdAt: now,
    updatedAt: now,
  };
  deepEqual(await store.listMessages({ limit: 5 }), [stored]);
  deepEqual(await store.findMessages(idOf(1).slice(0, 25)), [stored]);
  deepEqual(await store.outboxCounts(), { pending: 1, failed: 0, held: 0, oldestPendingAt: now });
});

eachStore("one of each lane is claimed, in the order of its target", async (store) => {
  await store.addToOutbox([
    message(1),
    message(2),
    message(3, { connection: "other" }),
    message(4, { connection: "", kind: "webhook", target: { url: "a" } }),
    message(5, { connection: "", kind: "webhook", target: { url: "b" } }),
    message(6, { connection: "", kind: "webhook", target: { url: "a" } }),
    message(7, { project: "second" }),
  ]);
  deepEqual(await claim(store), [1, 3, 4, 5, 7]);
  for (const n of [3, 4, 5, 7]) await finish(store, n);
  const later = { state: "pending", reason: "503", nextAt: 9000, certain: true } as const;
  await finish(store, 1, later);
  deepEqual(await claim(store, ["default/tidepool"]), [6], "2 is behind 1, 6 not any more");
  await finish(store, 6);
  await store.addToOutbox([message(8, { target: { repository: "o/r", number: 2 } })]);
  deepEqual(await claim(store, ["default/tidepool"]), [], "nothing of a lane that is busy");
  deepEqual(await claim(store), [8], "another target of the Connection does not wait");
  await finish(store, 8);
  deepEqual(await store.claimMessages({ limit: 5, now: 5001, busy: [] }), {
    messages: [],
    nextAt: 9000,
  });
  deepEqual(await claim(store, [], 9000), [1], "2 is behind 1");
  await finish(store, 1);
  deepEqual(await claim(store, [], 9000), [2]);
});

eachStore("targets are the same in whatever order their members stand", async (store) => {
  await store.addToOutbox([
    message(1, { connection: "", target: { a: 1, b: { c: 2, d: 3 } } }),
    message(2, { connection: "", target: { b: { d: 3, c: 2 }, a: 1 } }),
  ]);
  deepEqual(await claim(store), [1]);
});

eachStore(
  "a newer message replaces an untried one of its key, and updates a sent one",
  async (store) => {
    const key = { key: "review" };
    await store.addToOutbox([message(1, key), message(2, { key: "other" }), message(3)]);
    await store.addToOutbox([message(4, key), message(5)]);
    const [first] = await store.findMessages(idOf(1));
    deepEqual([first?.state, first?.reason], ["dropped", `replaced by outbox/${idOf(4)}`]);
    const { messages: [claimed] } = await store.claimMessages({ limit: 1, now: 5, busy: [] });
    equal(claimed?.message.id, idOf(2), "without a key nothing is replaced, and the order stays");
    for (const n of [2, 3]) await finish(store, n);
    deepEqual(await claim(store), [4]);
    await store.addToOutbox([message(6, key)]);
    equal((await store.findMessages(idOf(4)))[0]?.state, "pending", "it may be on its way");
    await finish(store, 4);
    await claim(store);
    await finish(store, 5);
    const { messages: [newer] } = await store.claimMessages({ limit: 1, now: 5, busy: [] });
    deepEqual([newer?.message.id, newer?.previousId], [idOf(6), "77"]);
  },
);

eachStore(
  "from the claim on a message may have arrived, until something else is known",
  async (_, tested) => {
    let store = tested.store;
    const key = { key: "k" };
    await store.addToOutbox([message(1, key)]);
    const at = async (now: number) =>
      (await store.claimMessages({ limit: 1, now, busy: [] })).messages[0];
    const first = await at(5000);
    deepEqual([first?.uncertainSince, first?.message.tries], [undefined, 1]);
    store = await tested.restart();
    const second = await at(6000);
    deepEqual([second?.uncertainSince, second?.message.tries, second?.message.firstTriedAt], [
      5000,
      2,
      5000,
    ]);
    const pending = { state: "pending", reason: "x", nextAt: 0 } as const;
    await finish(store, 1, { ...pending, certain: false });
    equal((await at(7000))?.uncertainSince, 5000);
    await finish(store, 1, { ...pending, certain: true });
    equal((await at(8000))?.uncertainSince, undefined);
    await finish(store, 1, { state: "failed", reason: "gone", certain: false });
    deepEqual(await store.outboxCounts(), { pending: 0, failed: 1, held: 0 });
    await store.addToOutbox([message(2, key)]);
    const next = await at(9000);
    deepEqual([next?.message.id, next?.uncertainSince, next?.previousId], [idOf(2), 8000, ""]);
    await finish(store, 2, { state: "failed", reason: "x", certain: false });
    equal((await store.retryMessage(idOf(2), { now: 1, forget: false }))?.uncertainSince, 9000);
    equal((await store.retryMessage(idOf(2), { now: 1, forget: true }))?.uncertainSince, undefined);
  },
);

eachStore("retry makes a message due at once, drop ends it; what was sent stays", async (store) => {
  await store.addToOutbox([message(1), message(2, { connection: "b" })]);
  deepEqual(await claim(store), [1, 2]);
  await finish(store, 1, { state: "failed", reason: "404", certain: true });
  await finish(store, 2, { state: "pending", reason: "500", nextAt: 9000, certain: true });
  equal((await store.retryMessage(idOf(2), { now: 7000, forget: false }))?.nextAt, 0);
  const again = await store.retryMessage(idOf(1), { now: 7000, forget: false });
  deepEqual([again?.state, again?.tries, again?.reason, again?.firstTriedAt], [
    "pending",
    0,
    "",
    undefined,
  ]);
  deepEqual(await claim(store), [1, 2]);
  equal((await store.dropMessage(idOf(2), { reason: "by hand", now: 1 }))?.state, "dropped");
  equal(await finish(store, 2, { state: "failed", reason: "x", certain: true }), undefined);
  equal((await finish(store, 2))?.state, "sent", "what arrived has arrived");
  equal(await store.dropMessage(idOf(2), { reason: "", now: 1 }), undefined);
  for (const n of [2, 9]) {
    equal(await store.retryMessage(idOf(n), { now: 1, forget: false }), undefined);
  }
});

eachStore(
  "what is retried through another Connection belongs to its lane and key",
  async (store) => {
    const key = { key: "k" };
    await store.addToOutbox([message(1, { ...key, connection: "" })]);
    deepEqual(await claim(store), [1]);
    await finish(store, 1, { state: "failed", reason: "No Connection", certain: true });
    const through = message(1, { ...key, connection: "a" });
    const again = await store.retryMessage(idOf(1), { now: 7000, forget: false, through });
    equal(again?.connection, "a");
    deepEqual(await claim(store, ["default/a"]), [], "the lane of its Connection is busy");
    const { messages: [claimed] } = await store.claimMessages({ limit: 1, now: 7000, busy: [] });
    equal(claimed?.lane, "default/a");
    await finish(store, 1, { state: "sent", externalId: "42" });
    await store.addToOutbox([message(2, { ...key, connection: "a" })]);
    const { messages: [next] } = await store.claimMessages({ limit: 1, now: 8000, busy: [] });
    equal(next?.previousId, "42", "the next one of its key updates it");
  },
);

eachStore(
  "how a try ends that was on its way when the message was retried counts no more",
  async (store) => {
    const failed = { state: "failed", reason: "No right", certain: true } as const;
    for (const number of [1, 2]) {
      const through = number === 1 ? {} : { through: message(2, { connection: "b" }) };
      await store.addToOutbox([message(number)]);
      deepEqual(await claim(store), [number]);
      await store.retryMessage(idOf(number), { now: 6000, forget: false, ...through });
      equal(await finish(store, number, failed), undefined);
      deepEqual(await claim(store), [number], "it is sent again");
      equal((await finish(store, number, failed))?.state, "failed");
    }
  },
);

eachStore("a clock that was set back holds nothing up", async (store) => {
  await store.addToOutbox([message(1)]);
  await claim(store, [], 9e12);
  await finish(store, 1, { state: "pending", reason: "", nextAt: 9e12, certain: true });
  deepEqual(await claim(store, [], 1000), [1]);
});

eachStore("an id of a clock that was set back is no earlier message", async (store) => {
  const key = { key: "k" };
  await store.addToOutbox([message(9, key)]);
  await claim(store);
  await finish(store, 9);
  await store.addToOutbox([message(2, key), message(1)]);
  const { messages: [next] } = await store.claimMessages({ limit: 1, now: 5000, busy: [] });
  deepEqual([next?.message.id, next?.previousId], [idOf(2), "77"]);
});

eachStore("an ended task leaves its mark and its answers in one transaction", async (store) => {
  await accept(store, 1, { plan: undefined, task: { followed: true } });
  await store.forgetTaskEnd(taskIdOf(1), [message(1)]);
  await store.forgetTaskEnd(taskIdOf(1), [message(2)]);
  deepEqual(await store.listTaskEnds(5), []);
  deepEqual((await store.listMessages({ limit: 5 })).map(({ id }) => id), [idOf(1)]);
});

eachStore(
  "messages are listed by project, state, trigger and page; old ones are removed",
  async (store) => {
    await accept(store, 1, { trigger: "review" });
    await store.addToOutbox([
      message(1, { taskId: taskIdOf(1) }),
      message(2, { project: "b" }),
      message(3),
    ]);
    await claim(store);
    await finish(store, 1);
    const list = async (query: Partial<Parameters<Store["listMessages"]>[0]>) =>
      (await store.listMessages({ limit: 9, ...query })).map(({ id }) => numberOf(id));
    deepEqual(await list({}), [3, 2, 1]);
    deepEqual(await list({ project: "default" }), [3, 1]);
    deepEqual(await list({ state: "sent" }), [1]);
    deepEqual(await list({ trigger: "review" }), [1]);
    deepEqual(await list({ taskId: taskIdOf(1) }), [1]);
    deepEqual(await list({ taskId: taskIdOf(1), state: "failed" }), []);
    deepEqual(await list({ before: idOf(3), limit: 1 }), [2]);
    deepEqual(await list({ since: 1003 }), [3]);
    equal(await store.pruneOutbox({ before: 6000, limit: 9 }), 0);
    equal(await store.pruneOutbox({ before: 6001, limit: 9 }), 1, "what waits is never removed");
    ok(!(await list({})).includes(1));
  },
);
