/**
 * Inboxes: every message once, in the order of the store, whenever the task starts and whoever
 * adds.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects, strictEqual as equal } from "node:assert/strict";
import { AppError } from "../../src/base/errors.ts";
import { Inboxes } from "../../src/tasks/step/inbox.ts";
import { accept, taskIdOf } from "../helpers/store_records.ts";
import { tempStore } from "../helpers/temp_store.ts";

const CLOCK = { now: () => 1_700_000_000_000 };

/**
 * What a claim says of a task without messages, and what comes in between has to be found anyway.
 */
const NEW = { hasMessages: false };

/** A store with task 1 in it, inboxes over it, and the file its steps would read. */
async function rig() {
  const temp = await tempStore();
  await accept(temp.store, 1);
  const path = `${temp.dir}/inbox.jsonl`;
  const make = async (content: Uint8Array) => {
    await Deno.writeFile(path, content);
    return path;
  };
  const read = async () =>
    (await Deno.readTextFile(path)).split("\n").slice(0, -1).map((line) => JSON.parse(line));
  return {
    store: temp.store,
    path,
    make,
    read,
    id: taskIdOf(1),
    inboxes: new Inboxes(temp.store, CLOCK),
    [Symbol.asyncDispose]: () => temp[Symbol.asyncDispose](),
  };
}

Deno.test("Inboxes: a message from before the start of the task is in its file from the start", async () => {
  await using it = await rig();
  for (const n of [1, 2]) await it.inboxes.add(it.id, { n });
  await it.inboxes.open(it.id, NEW, it.make);
  deepEqual(await it.read(), [{ n: 1 }, { n: 2 }]);
  await it.inboxes.add(it.id, { n: 3 });
  deepEqual(await it.read(), [{ n: 1 }, { n: 2 }, { n: 3 }]);
});

Deno.test("Inboxes: many at once, before, while and after it is opened, arrive once and in order", async () => {
  await using it = await rig();
  const adds = [];
  let opening: Promise<string> | undefined;
  for (let n = 0; n < 200; n++) {
    adds.push(it.inboxes.add(it.id, { n }));
    if (n === 70) opening = it.inboxes.open(it.id, NEW, it.make);
    if (n % 20 === 0) await Promise.resolve();
  }
  await Promise.all([opening, ...adds]);
  const stored = (await it.store.listInbox(it.id)).map(({ message }) => message);
  equal(stored.length, 200);
  deepEqual(await it.read(), stored);
});

Deno.test("Inboxes.deliver appends messages that another daemon has stored, each once", async () => {
  await using it = await rig();
  const first = await it.store.addToInbox(it.id, { n: 0 }, 1);
  const second = await it.store.addToInbox(it.id, { n: 1 }, 1);
  await it.inboxes.open(it.id, { hasMessages: true }, it.make);
  const third = await it.store.addToInbox(it.id, { n: 2 }, 1);
  const fourth = await it.store.addToInbox(it.id, { n: 3 }, 1);
  for (const one of [fourth, first, third, second, fourth]) {
    if (one !== undefined) await it.inboxes.deliver(it.id, one);
  }
  deepEqual(await it.read(), [{ n: 0 }, { n: 1 }, { n: 2 }, { n: 3 }]);
});

Deno.test("Inboxes: a task that does not run gets it from the store with its next start", async () => {
  await using it = await rig();
  await it.inboxes.open(it.id, NEW, it.make);
  await it.inboxes.add(it.id, { n: 0 });
  await it.inboxes.close(it.id);
  await it.inboxes.add(it.id, { n: 1 });
  deepEqual(await it.read(), [{ n: 0 }]);
  await it.inboxes.open(it.id, NEW, it.make);
  deepEqual(await it.read(), [{ n: 0 }, { n: 1 }]);
});

Deno.test("Inboxes.add to a task that has ended is refused, and nothing is stored", async () => {
  await using it = await rig();
  await it.store.cancelTask(it.id, { reason: "x", now: 1 });
  equal(await it.inboxes.add(it.id, { n: 1 }), undefined);
  deepEqual(await it.store.listInbox(it.id), []);
});

Deno.test("Inboxes.add that the store does not take says so, and the next one works", async () => {
  await using it = await rig();
  let broken = true;
  const inboxes = new Inboxes({
    ...it.store,
    addToInbox: (...args) =>
      broken
        ? Promise.reject(new AppError("overloaded", "The disk is full"))
        : it.store.addToInbox(...args),
  }, CLOCK);
  await inboxes.open(it.id, NEW, it.make);
  await rejects(inboxes.add(it.id, { n: 1 }), { code: "overloaded" });
  broken = false;
  equal((await inboxes.add(it.id, { n: 2 }))?.position, 0);
  deepEqual(await it.read(), [{ n: 2 }]);
});

Deno.test("Inboxes: a file that a step has replaced by a pipe does not block", async () => {
  await using it = await rig();
  await it.inboxes.open(it.id, NEW, it.make);
  await Deno.remove(it.path);
  equal((await it.inboxes.add(it.id, { n: 0 }))?.position, 0);
  await new Deno.Command("mkfifo", { args: [it.path] }).output();
  equal((await it.inboxes.add(it.id, { n: 1 }))?.position, 1);
  await Deno.remove(it.path);
  await Deno.writeTextFile(it.path, "");
  await it.inboxes.add(it.id, { n: 2 });
  deepEqual(await it.read(), [{ n: 0 }, { n: 1 }, { n: 2 }]);
});

Deno.test("Inboxes: a message that another daemon stored is appended once this one hears of it", async () => {
  await using it = await rig();
  await it.inboxes.open(it.id, NEW, it.make);
  for (const n of [1, 2]) await it.store.addToInbox(it.id, { n }, 1);
  await it.inboxes.catchUp(it.id);
  deepEqual(await it.read(), [{ n: 1 }, { n: 2 }]);
  await it.inboxes.add(it.id, { n: 3 });
  await it.store.addToInbox(it.id, { n: 4 }, 1);
  await it.inboxes.catchUp();
  await it.inboxes.catchUp(taskIdOf(2));
  deepEqual(await it.read(), [{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }]);
});

Deno.test("Inboxes: a message that another daemon stored right before the start is in the file", async () => {
  await using it = await rig();
  await it.store.addToInbox(it.id, { n: 1 }, 1);
  await it.inboxes.catchUp(it.id);
  await it.inboxes.open(it.id, NEW, it.make);
  deepEqual(await it.read(), [{ n: 1 }]);
});
