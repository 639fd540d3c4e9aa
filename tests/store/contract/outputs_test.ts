/**
 * What counts against limits, messages that are held, and the long parts of messages.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import type { CountedOutput, NewMessage } from "../../../src/store/outbox_records.ts";
import type { Store } from "../../../src/store/store.ts";
import { idOf, taskIdOf } from "../../helpers/store_records.ts";
import { eachStore, numberOf, range } from "./each_store.ts";
import { ended, prune } from "./pruned_tasks.ts";

const HOUR = 3600_000;
const DAY = 24 * HOUR;
const WHY = "1 file is protected (package.json)";

function pull(n: number, given: Partial<NewMessage> = {}): NewMessage {
  return {
    id: idOf(n),
    project: "default",
    connection: "tidepool",
    kind: "github-pull",
    target: { repository: "o/r" },
    key: "",
    body: { title: `title ${n}` },
    taskId: taskIdOf(1),
    now: 1000 + n,
    ...given,
  };
}

const counted = (unit: string, given: Partial<CountedOutput> = {}): Partial<NewMessage> => ({
  counted: { output: "pull", unit, max: 1, ...given },
});

/** A push onto a pull request, by a task of its own. */
const push = (n: number, byPerson = false, given: Partial<NewMessage> = {}): NewMessage =>
  pull(n, {
    taskId: taskIdOf(n),
    ...counted(`${n}`, { output: "push", rounds: { place: "o/r#42", most: 3, byPerson } }),
    ...given,
  });

const PIECE = 1024 * 1024;
/** A piece whose bytes tell which one it is. */
const piece = (n: number, length = PIECE) => new Uint8Array(length).fill(n % 251, 0, 7);
const content = () => ({ pack: [piece(1), piece(2, 10)], patch: [piece(3, 5)] });
const held = (given: Partial<NewMessage> = {}) => ({ held: WHY, content: content(), ...given });

async function stateOf(store: Store, n: number): Promise<string> {
  const [message] = await store.findMessages(idOf(n));
  return `${message?.state} ${message?.reason}`.trim();
}

async function hasContent(store: Store, n: number): Promise<boolean> {
  const parts = await Promise.all(
    (["pack", "patch"] as const).map((name) => store.readContent(idOf(n), name, 0)),
  );
  equal(parts[0] === undefined, parts[1] === undefined, "both or none");
  return parts[0] !== undefined;
}

async function claim(store: Store, now = 5000): Promise<number[]> {
  const { messages } = await store.claimMessages({ limit: 50, now, busy: [] });
  return messages.map(({ message }) => numberOf(message.id));
}

const FAILED = { state: "failed", reason: "404", certain: true } as const;
const SENT = { state: "sent", externalId: "77" } as const;
const EXPIRED = { reason: "held for 7 days", limit: 50 };

eachStore("a key counts once in its task, however often it is stored", async (store) => {
  equal(await store.addToOutbox([pull(1, counted("fix"))]), undefined);
  equal(await store.addToOutbox([pull(2, counted("fix"))]), undefined);
  deepEqual(await store.addToOutbox([pull(3, counted("more"))]), {
    output: "pull",
    by: "max",
    most: 1,
    units: ["fix"],
  });
  deepEqual(await store.findMessages(idOf(3)), [], "it was not stored");
  equal(await store.addToOutbox([pull(4, { ...counted("more"), taskId: taskIdOf(2) })]), undefined);
  equal(await store.addToOutbox([pull(5, counted("x", { output: "issue" }))]), undefined);
  deepEqual(
    await store.listOutputs(taskIdOf(1)),
    new Map([["pull", ["fix"]], ["issue", ["x"]]]),
  );
  await store.dropMessage(idOf(1), { reason: "", now: 1 });
  await store.dropMessage(idOf(2), { reason: "", now: 1 });
  ok(await store.addToOutbox([pull(6, counted("more"))]), "what was dropped was asked for");
});

eachStore("of messages stored together none is, where one passes a limit", async (store) => {
  const two = { max: 2 };
  const all = [1, 2, 3].map((n) => pull(n, counted(`${n}`, two)));
  deepEqual((await store.addToOutbox(all))?.units, ["1", "2"]);
  const round = (n: number, at: number) => push(n, false, { taskId: taskIdOf(at) });
  equal((await store.addToOutbox([1, 2, 3, 4].map((n) => round(n, n))))?.by, "rounds");
  deepEqual(await store.listMessages({ limit: 9 }), []);
  deepEqual(await store.listOutputs(taskIdOf(1)), new Map());
  deepEqual(await store.outboxCounts(), { pending: 0, failed: 0, held: 0 });
  equal(await store.addToOutbox(all.slice(1)), undefined, "nothing was counted before");
  equal(await store.addToOutbox([1, 2, 3].map((n) => round(n + 10, n))), undefined);
});

eachStore("of calls at once only as many pass as a limit has", async (store) => {
  const results = await Promise.all(
    range(0, 8).map((n) => store.addToOutbox([pull(n, counted(`${n}`, { max: 3 }))])),
  );
  equal(results.filter((result) => result === undefined).length, 3);
  equal((await store.listMessages({ limit: 9 })).length, 3);
});

eachStore("rounds count over tasks, until a person has started one", async (store) => {
  for (const n of [1, 2, 3]) equal(await store.addToOutbox([push(n)]), undefined);
  const reached = { output: "push", by: "rounds", most: 3, units: [] };
  deepEqual(await store.addToOutbox([push(4)]), reached);
  deepEqual(await store.addToOutbox([push(5)]), reached, "the one before was not counted");
  const elsewhere = counted("6", {
    output: "push",
    rounds: { place: "o/r#43", most: 3, byPerson: false },
  });
  equal(await store.addToOutbox([push(6, false, elsewhere)]), undefined);
  equal(await store.addToOutbox([push(7, true)]), undefined, "a person has a say");
  for (const n of [8, 9]) equal(await store.addToOutbox([push(n)]), undefined);
  deepEqual(await store.addToOutbox([push(10)]), reached);
});

eachStore("a person's task begins anew only once", async (store) => {
  const rounds = { place: "o/r#42", most: 2, byPerson: true };
  const again = (n: number) =>
    store.addToOutbox([pull(n, counted(`${n}`, { output: "push", max: 9, rounds }))]);
  equal(await again(1), undefined);
  equal(await again(2), undefined);
  deepEqual((await again(3))?.by, "rounds");
});

eachStore("rounds do not depend on the order of ids, nor on the clock", async (store) => {
  for (const n of [9, 5, 7]) {
    equal(await store.addToOutbox([push(n, false, { now: 9000 - n })]), undefined);
  }
  equal((await store.addToOutbox([push(1, false, { now: 1 })]))?.by, "rounds");
});

eachStore("what a task has stored against limits goes with it", async (store) => {
  await ended(store, 1);
  await ended(store, 2);
  for (const n of [1, 2]) {
    await store.addToOutbox([pull(n, { ...counted("fix"), taskId: taskIdOf(n) })]);
    await store.dropMessage(idOf(n), { reason: "", now: 1 });
  }
  await store.deleteTask(taskIdOf(1), { dryRun: false });
  deepEqual(await store.listOutputs(taskIdOf(1)), new Map());
  deepEqual(await prune(store, { before: 1e15 }), [2]);
  deepEqual(await store.listOutputs(taskIdOf(2)), new Map());
});

eachStore("a held message is sent by a person alone, and once", async (store) => {
  await store.addToOutbox([pull(1, held()), pull(2)]);
  equal(await stateOf(store, 1), `held ${WHY}`);
  deepEqual(await store.outboxCounts(), { pending: 1, failed: 0, held: 1, oldestPendingAt: 1002 });
  deepEqual(await claim(store, 1e15), [2], "also those behind it do not wait");
  await store.finishMessage(idOf(2), SENT, 6000);
  equal(await store.retryMessage(idOf(1), { now: 1, forget: true }), undefined);
  equal(await store.finishMessage(idOf(1), FAILED, 6000), undefined);
  const sent = await store.releaseMessage(idOf(1), 7000);
  deepEqual([sent?.state, sent?.reason, sent?.nextAt], ["pending", "", 0]);
  equal(await store.releaseMessage(idOf(1), 7000), undefined);
  deepEqual(await claim(store), [1]);
  await store.finishMessage(idOf(1), SENT, 6000);
  equal(await store.releaseMessage(idOf(1), 7000), undefined);
});

eachStore("a newer message of its key drops a held one, with what it held", async (store) => {
  const key = { key: "fix" };
  await store.addToOutbox([pull(1, held(key)), pull(2, held())]);
  await store.addToOutbox([pull(3, held(key))]);
  equal(await stateOf(store, 1), `dropped replaced by outbox/${idOf(3)}`);
  equal(await store.releaseMessage(idOf(1), 1), undefined);
  deepEqual(
    await Promise.all([1, 2, 3].map((n) => hasContent(store, n))),
    [false, true, true],
  );
  await store.addToOutbox([pull(4, key)]);
  equal(await stateOf(store, 3), `dropped replaced by outbox/${idOf(4)}`);
});

eachStore("long parts are read piece by piece", async (store) => {
  await store.addToOutbox([pull(1, { content: content() }), pull(2)]);
  const read = (name: "pack" | "patch", at: number) => store.readContent(idOf(1), name, at);
  deepEqual(await read("pack", 0), piece(1));
  deepEqual(await read("pack", 1), piece(2, 10));
  deepEqual(await read("patch", 0), piece(3, 5));
  for (const [name, at] of [["pack", 2], ["patch", 1]] as const) {
    equal(await read(name, at), undefined);
  }
  equal(await store.readContent(idOf(2), "pack", 0), undefined);
});

eachStore("20 MB are stored and read whole", async (store) => {
  const pack = range(0, 20).map((n) => piece(n));
  await store.addToOutbox([pull(1, { content: { pack } })]);
  for (const n of range(0, 20)) {
    deepEqual(await store.readContent(idOf(1), "pack", n), piece(n));
  }
});

eachStore("long parts go when a message is over, and stay while it has failed", async (store) => {
  const other = (n: number) => ({ content: content(), connection: `c${n}` });
  await store.addToOutbox(range(1, 5).map((n) => pull(n, other(n))));
  deepEqual(await claim(store), [1, 2, 3, 4]);
  await store.finishMessage(idOf(1), SENT, 6000);
  await store.finishMessage(idOf(2), FAILED, 6000);
  await store.finishMessage(idOf(3), { ...FAILED, state: "pending", nextAt: 9 }, 6000);
  await store.dropMessage(idOf(4), { reason: "", now: 6000 });
  const left = () => Promise.all(range(1, 5).map((n) => hasContent(store, n)));
  deepEqual(await left(), [false, true, true, false]);
  await store.retryMessage(idOf(2), { now: 1, forget: true });
  deepEqual(await left(), [false, true, true, false]);
  deepEqual(await claim(store), [2, 3]);
  await store.finishMessage(idOf(2), FAILED, 6000);
  equal(await store.pruneOutbox({ before: 6001, limit: 9 }), 3);
  deepEqual(await left(), [false, false, true, false]);
});

eachStore("long parts go with the task of their message", async (store) => {
  await ended(store, 1);
  await store.addToOutbox([pull(1, { content: content() })]);
  await claim(store);
  await store.finishMessage(idOf(1), FAILED, 6000);
  await store.deleteTask(taskIdOf(1), { dryRun: false });
  equal(await hasContent(store, 1), false);
});

eachStore("no task is deleted while a message of it is held", async (store) => {
  await ended(store, 1);
  await store.addToOutbox([pull(1, held())]);
  const refusal = await store.deleteTask(taskIdOf(1), { dryRun: false }).catch((error) => error);
  ok(/outbox\/01HZ.* waits to be sent/.test(refusal.message), refusal.message);
});

eachStore("a held message is named once a day before it goes, and then dropped", async (store) => {
  await store.addToOutbox([
    pull(1, held()),
    pull(2, held({ connection: "b", now: 9 * DAY })),
    pull(3),
  ]);
  const at = async (now: number) => {
    const { warned, dropped } = await store.expireHeld({ now, ...EXPIRED });
    const ids = (list: readonly { readonly id: string }[]) => list.map(({ id }) => numberOf(id));
    return [ids(warned), ids(dropped)];
  };
  equal(await store.pruneOutbox({ before: 1e15, limit: 9 }), 0, "held is not over");
  deepEqual(await at(6 * DAY), [[], []]);
  deepEqual(await at(6 * DAY + HOUR), [[1], []]);
  deepEqual(await at(6 * DAY + HOUR), [[], []]);
  deepEqual(await at(7 * DAY), [[], []]);
  deepEqual(await at(7 * DAY + HOUR), [[], [1]]);
  equal(await stateOf(store, 1), "dropped held for 7 days");
  equal(await hasContent(store, 1), false);
  deepEqual(
    await at(99 * DAY),
    [[2], []],
    "the daemon was off meanwhile: a day is left none the less",
  );
  deepEqual(await at(99 * DAY + 23 * HOUR), [[], []]);
  await store.releaseMessage(idOf(2), 100 * DAY);
  deepEqual(await at(200 * DAY), [[], []], "it was sent");
  equal(await stateOf(store, 3), "pending");
});
