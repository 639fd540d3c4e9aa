import {
  deepStrictEqual as deepEqual,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { vacuum } from "../../src/upkeep/vacuum.ts";
import { accept } from "../store/temp_store.ts";
import { finish, upkeepRig } from "./upkeep_rig.ts";

Deno.test("vacuum gives back what deleted rows left, a mebibyte at a time, and nothing is lost", async () => {
  await using rig = await upkeepRig(0);
  {
    await using store = await rig.open();
    for (let n = 0; n < 100; n++) await accept(store, n, { body: new Uint8Array(100_000) });
  }
  rig.change("UPDATE deliveries SET body = NULL WHERE rowid % 10 <> 0");
  await using store = await rig.open();
  const before = await store.freeSpace();
  ok(before.incremental && before.freePages > 1000, JSON.stringify(before));
  const { result, steps } = await finish(vacuum(store));
  equal(steps, Math.ceil(before.freePages / 128));
  const after = await store.freeSpace();
  deepEqual([after.freePages, result.bytes], [0, after.totalPages * after.pageBytes]);
  equal(result.freedBytes, (before.totalPages - after.totalPages) * before.pageBytes);
  equal((await store.listTasks({ limit: 1000 })).length, 100);
  equal((await finish(vacuum(store))).result.freedBytes, 0, "a second one has nothing to do");
});

Deno.test("vacuum of a file that cannot give back pages says so", async () => {
  await using rig = await upkeepRig();
  await using store = await rig.open();
  const old = new Proxy(store, {
    get: (target, name) =>
      name === "freeSpace"
        ? () =>
          Promise.resolve({ totalPages: 9, freePages: 3, pageBytes: 4096, incremental: false })
        : Reflect.get(target, name),
  });
  await rejects(finish(vacuum(old)), { code: "refused" });
});
