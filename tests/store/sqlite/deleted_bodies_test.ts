/**
 * What the file still has of an event once its body is deleted: nothing that svc itself has copied.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import type { WaitPart } from "../../../src/store/wait_records.ts";
import { rowsOf } from "../../helpers/sqlite_file.ts";
import { accept, idOf, PLAN, taskIdOf } from "../../helpers/store_records.ts";
import { tempStore } from "../../helpers/temp_store.ts";

const SECRET = "what-a-customer-wrote";

/** Names of the tables in which a row has the text. */
function tablesWith(path: string, text: string): string[] {
  const bytes = new TextDecoder();
  return rowsOf(path, "SELECT name FROM sqlite_schema WHERE type = 'table'")
    .map(({ name }) => String(name))
    .filter((name) =>
      rowsOf(path, `SELECT * FROM "${name}"`).some((row) =>
        Object.values(row).some((value) =>
          (value instanceof Uint8Array ? bytes.decode(value) : String(value)).includes(text)
        )
      )
    );
}

Deno.test("no table has what a deleted body was copied to: payloads, messages, inputs of children", async () => {
  await using temp = await tempStore();
  const { store, path } = temp;
  const payload = new TextEncoder().encode(JSON.stringify({ text: SECRET }));
  await accept(store, 1, { payload });
  await store.claimTasks(9, 1);
  await store.addToInbox(taskIdOf(1), { text: SECRET }, 1);
  const names = { project: "default", trigger: "push", workflow: "build", workspace: "repo" };
  const child = { ...names, id: taskIdOf(2), plan: PLAN };
  const given = { of: SECRET };
  const part: WaitPart = {
    kind: "task",
    dueAt: 99,
    isRelative: true,
    asked: { items: 2, maxParallel: 1 },
    shown: JSON.stringify([given, given]),
  };
  const wait = { taskId: taskIdOf(1), position: 0, round: 1, project: "default", now: 2 };
  await store.startChildren({
    wait: { ...wait, parts: [part] },
    children: [{ item: 0, task: child, inputs: given }],
    isShared: false,
    sharedAbove: [],
  });
  await store.claimTasks(9, 3);
  deepEqual(tablesWith(path, SECRET).toSorted(), ["inbox", "tasks", "waits"]);
  for (const n of [2, 1]) {
    await store.finishTask({ taskId: taskIdOf(n), state: "failed", reason: "", now: 9 });
  }
  for (const n of [1, 2]) await store.forgetTaskEnd(taskIdOf(n), []);
  await store.endWaits(taskIdOf(1), 9);
  const { deleted } = await store.deleteBodies({ ids: [idOf(1)], before: 1e15, now: 10 });
  equal(deleted, 1);
  deepEqual(tablesWith(path, SECRET), []);
});
