import { rejects } from "node:assert/strict";
import { dataDirAt } from "../../src/base/data_dir.ts";
import { lockDataDir } from "../../src/base/lock.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";

Deno.test("a lock whose holder is about to go is waited for, one that is held on is refused", async () => {
  await using temp = await tempDir();
  const dir = dataDirAt(temp.path);
  await Deno.mkdir(dir.lock.replace(/\/[^/]*$/, ""), { recursive: true });

  // What a killed daemon leaves for a moment has its descriptor, and nothing else that could be seen.
  const left = await lockDataDir(dir);
  using looks = lookedAt();
  const waiting = lockDataDir(dir);
  await Promise.race([waiting, until("a second look", () => looks.missed >= 2 || undefined)]);
  left[Symbol.dispose]();
  {
    using _held = await waiting;
    await rejects(lockDataDir(dir), { code: "refused", message: /Another daemon runs/ });
  }
  using _free = await lockDataDir(dir);
});

/** Counts how often somebody has looked at a lock and not got it. */
function lookedAt(): { missed: number } & Disposable {
  const original = Deno.FsFile.prototype.tryLock;
  const looks = {
    missed: 0,
    [Symbol.dispose]: () => void (Deno.FsFile.prototype.tryLock = original),
  };
  Deno.FsFile.prototype.tryLock = async function (exclusive) {
    const got = await original.call(this, exclusive);
    if (!got) looks.missed++;
    return got;
  };
  return looks;
}
