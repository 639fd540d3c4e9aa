/**
 * Tasks that wait for a time, over restarts and whatever a clock is set to.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects, strictEqual as equal } from "node:assert/strict";
import { AppError } from "../../../src/base/errors.ts";
import { accept, taskIdOf } from "../../helpers/store_records.ts";
import { eachStore, range } from "./each_store.ts";
import { claimAt, debounced, HOUR, limited, SEC, T0 } from "./timed_tasks.ts";

eachStore("what waits for its time waits for it over a restart", async (first, { restart }) => {
  await debounced(first, 1, T0);
  for (const n of range(2, 5)) {
    await accept(first, n, { ...limited(1), trigger: "slow", receivedAt: T0 });
  }
  deepEqual(await claimAt(first, T0), { tasks: [2], nextAt: T0 + 10 * SEC });
  const again = await restart();
  equal((await debounced(again, 10, T0 + SEC))?.taskId, taskIdOf(1), "still joined");
  await rejects(
    accept(again, 11, { ...limited(1, true), trigger: "slow", receivedAt: T0 + SEC }),
    { code: "rate_limited" },
  );
  deepEqual(await claimAt(again, T0 + 10 * SEC), { tasks: [1], nextAt: T0 + 60 * SEC });
  deepEqual(await claimAt(again, T0 + HOUR), { tasks: [3, 4], nextAt: undefined });
});

eachStore("a clock that is set forward runs what is due, once", async (store) => {
  for (const n of range(0, 5)) await accept(store, n, { ...limited(1), receivedAt: T0 });
  deepEqual((await claimAt(store, T0)).tasks, [0]);
  deepEqual(await claimAt(store, T0 + 24 * HOUR), { tasks: [1, 2, 3, 4], nextAt: undefined });
  deepEqual((await claimAt(store, T0)).tasks, []);
});

eachStore(
  "a clock that is set back neither stops a rate nor holds up what waits for a time",
  async (store) => {
    for (const n of range(0, 3)) await accept(store, n, { ...limited(2), receivedAt: T0 });
    await debounced(store, 3, T0, { trigger: "other" });
    deepEqual((await claimAt(store, T0)).tasks, [0, 1]);
    const back = T0 - 24 * HOUR;
    deepEqual((await claimAt(store, back)).tasks, [2, 3], "not a day later");
    for (const n of range(4, 7)) await accept(store, n, { ...limited(2), receivedAt: back });
    deepEqual(await claimAt(store, back), { tasks: [], nextAt: back + 60 * SEC }, "as if at T0");
    deepEqual((await claimAt(store, back + 60 * SEC)).tasks, [4]);
    await rejects(
      accept(store, 8, { ...limited(2, true), receivedAt: back }),
      (error) => error instanceof AppError && (error.retryAfterSecs ?? 0) <= 180,
    );
  },
);

eachStore(
  "thousands that are due at once come step by step, and none is left out",
  async (store) => {
    await Promise.all(
      range(0, 1200).map((n) =>
        accept(store, n, {
          ...limited(1_000_000),
          receivedAt: T0,
          task: {
            debounce: { key: String(n), forMs: SEC },
          },
        })
      ),
    );
    const seen: number[] = [];
    let next: number | undefined = T0 + SEC;
    for (let step = 0; next !== undefined && step < 10; step++) {
      const { tasks, nextAt } = await claimAt(store, T0 + HOUR, 1000);
      seen.push(...tasks);
      next = nextAt;
    }
    seen.push(...(await claimAt(store, T0 + HOUR, 1000)).tasks);
    deepEqual(seen.toSorted((a, b) => a - b), range(0, 1200));
  },
);
