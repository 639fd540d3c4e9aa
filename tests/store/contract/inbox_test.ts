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
