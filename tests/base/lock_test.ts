import { ok, rejects } from "node:assert/strict";
import { systemClock } from "../../src/base/clock.ts";
import { dataDirAt } from "../../src/base/data_dir.ts";
import { lockDataDir, lockUnless } from "../../src/base/lock.ts";
import { ManualClock, passUntil } from "../helpers/manual_clock.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";

Deno.test("a lock is waited for while its holder is ending, and refused while its holder goes on", async () => {
  await using temp = await tempDir();
  const dir = dataDirAt(temp.path);
  await Deno.mkdir(dir.lock.replace(/\/[^/]*$/, ""), { recursive: true });

  // A process that a killed daemon leaves for a moment holds its descriptor, and shows in no other
  // way.
  const clock = new ManualClock();
  const left = await lockDataDir(dir, clock);
  const waiting = lockDataDir(dir, clock);
  for (let missed = 0; missed < 2; missed++) {
    await until("the pause after it did not get the lock", () => clock.waiting > 0 || undefined);
    await clock.advance(20);
  }
  left[Symbol.dispose]();
  {
    using _held = await passUntil(clock, waiting, 20);
    const since = clock.monotonicMs();
    const refused = passUntil(clock, lockDataDir(dir, clock), 20);
    await rejects(refused, { code: "refused", message: /Another daemon runs/ });
    ok(clock.monotonicMs() - since >= 3000);
  }
  using _free = await lockDataDir(dir, clock);
});

Deno.test("a lock that is given back is free, whatever starts a process at that moment", async () => {
  await using temp = await tempDir();
  const dir = dataDirAt(temp.path);
  await Deno.mkdir(dir.lock.replace(/\/[^/]*$/, ""), { recursive: true });
  const worker = new Worker(import.meta.resolve("./spawning_worker.ts"), { type: "module" });
  try {
    await new Promise((resolve) => worker.onmessage = resolve);
    for (let round = 0; round < 500; round++) {
      (await lockDataDir(dir, systemClock))[Symbol.dispose]();
      using again = await lockUnless(() => Promise.resolve(true), { dir, clock: systemClock });
      ok(again !== undefined, `round ${round}: the lock is free`);
    }
  } finally {
    worker.terminate();
  }
});
