import {
  deepStrictEqual as deepEqual,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import type { Maintenance } from "../../src/store/maintenance.ts";
import { vacuum } from "../../src/upkeep/vacuum.ts";
import { accept } from "../helpers/store_records.ts";
import { finish, upkeepRig } from "../rigs/upkeep_rig.ts";

Deno.test("vacuum frees the space of deleted rows, a mebibyte at a time, and loses nothing", async () => {
  await using rig = await upkeepRig(0);
  {
    await using store = await rig.open();
    for (let n = 0; n < 100; n++) await accept(store, n, { body: new Uint8Array(100_000) });
  }
  rig.change("UPDATE deliveries SET body = NULL WHERE rowid % 10 <> 0");
  await using store = await rig.open();
  const before = await store.databaseSize();
  const mebibyte = 1024 * 1024;
  ok(before.reclaimable && before.unusedBytes > 8 * mebibyte, JSON.stringify(before));
  const { result, steps } = await finish(vacuum(store));
  equal(steps, Math.ceil(before.unusedBytes / mebibyte));
  const after = await store.databaseSize();
  deepEqual([after.unusedBytes, result.bytes], [0, after.bytes]);
  equal(result.freedBytes, before.bytes - after.bytes);
  equal((await store.listTasks({ limit: 1000 })).length, 100);
  equal((await finish(vacuum(store))).result.freedBytes, 0, "a second one has nothing to do");
});

Deno.test("vacuum of a file that cannot give back pages says so", async () => {
  const size = { bytes: 9, unusedBytes: 3, reclaimable: false };
  const old: Maintenance = {
    databaseSize: () => Promise.resolve(size),
    reclaimSpace: () => Promise.reject(new Error("it was not to be asked")),
  };
  await rejects(finish(vacuum(old)), { code: "refused" });
});
