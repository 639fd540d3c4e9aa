/**
 * Inboxes of tasks.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { accept, taskIdOf } from "../../helpers/store_records.ts";
import { eachStore } from "./each_store.ts";

eachStore("addToInbox numbers the messages to a task until it ends", async (store) => {
  await accept(store, 1);
  await accept(store, 2);
  const add = (n: number, text: string) => store.addToInbox(taskIdOf(n), { text }, 70 + n);
  deepEqual(await add(1, "a\0\u{1f600}"), {
    position: 0,
    message: { text: "a\0\u{1f600}" },
    createdAt: 71,
  });
  await store.claimTasks(1, 1);
  const more = await Promise.all(["b", "c"].map((text) => add(1, text)));
  const [first, second] = more.toSorted((one, other) =>
    Number(one?.position) - Number(other?.position)
  );
  deepEqual([first?.position, second?.position], [1, 2], "whichever of them comes first");
  equal((await add(2, "other"))?.position, 0);
  await store.finishTask({ taskId: taskIdOf(1), state: "succeeded", reason: "", now: 9 });
  equal(await add(1, "too late"), undefined);
  equal(await add(9, "nobody"), undefined);
  deepEqual((await store.listInbox(taskIdOf(1))).map(({ message }) => message["text"]), [
    "a\0\u{1f600}",
    first?.message["text"],
    second?.message["text"],
  ]);
  deepEqual(await store.listInbox(taskIdOf(9)), []);
});

eachStore(
  "the messages that no step was given are kept with the end of their task",
  async (store) => {
    for (const n of [1, 2, 3]) await accept(store, n);
    await store.claimTasks(3, 1);
    const add = (n: number, text: string) => store.addToInbox(taskIdOf(n), { text }, 70 + n);
    const end = (n: number, state: "succeeded" | "cancelled" = "succeeded") =>
      store.finishTask({ taskId: taskIdOf(n), state, reason: "", now: 9 });
    const step = { position: 0, id: "one", state: "running", reason: "" } as const;
    for (const text of ["a", "b", "c"]) await add(1, text);
    await store.saveStep(taskIdOf(1), { ...step, readFrom: 1, readUpTo: 2 });
    deepEqual((await store.findTasks(taskIdOf(1)))[0]?.steps[0]?.readFrom, 1);
    await store.saveStep(taskIdOf(1), { ...step, readUpTo: 1 });
    deepEqual((await store.listUnread(taskIdOf(1))).map(({ position }) => position), [2]);
    equal((await store.findTasks(taskIdOf(1)))[0]?.unread, 1);
    equal(await end(1), "unread");
    equal(await end(1), false);

    await add(2, "a");
    await store.saveStep(taskIdOf(2), { ...step, readUpTo: 1 });
    deepEqual(await store.listUnread(taskIdOf(2)), []);
    equal(await end(2), true);

    await add(3, "a");
    equal(await end(3, "cancelled"), true, "who cancels a task means its messages, too");
    deepEqual((await store.listTaskEnds(5)).map(({ id, unread }) => [id, unread]), [[
      taskIdOf(1),
      1,
    ]]);
  },
);

eachStore("a message that came with the last step of a task is read, or kept", async (store) => {
  const kept: string[] = [];
  for (let n = 1; n <= 40; n++) {
    await accept(store, n);
    await store.claimTasks(1, n);
    const taskId = taskIdOf(n);
    const steps = [{ position: 0, id: "one", state: "succeeded", reason: "" }] as const;
    const [message, ended] = await Promise.all([
      store.addToInbox(taskId, { text: "late" }, n),
      store.finishTask({ taskId, state: "succeeded", reason: "", now: n, steps }),
    ]);
    equal(ended, message === undefined ? true : "unread");
    if (message !== undefined) kept.push(taskId);
  }
  deepEqual((await store.listTaskEnds(50)).map(({ id }) => id), kept);
});
