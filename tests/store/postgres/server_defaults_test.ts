/**
 * Settings that an administrator gives a database or a role change nothing of what svc promises.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { twoDaemonsTest } from "../../rigs/two_daemons.ts";
import { accept } from "../../helpers/store_records.ts";
import { range } from "../contract/each_store.ts";

/** Each of them would let a daemon decide on old facts, or end its waits for another daemon. */
const DEFAULTS = {
  default_transaction_isolation: "repeatable read",
  lock_timeout: "1ms",
};

twoDaemonsTest("the same events at both daemons start one task each", async ({ a, b }) => {
  const events = range(0, 200);
  const send = (store: typeof a, from: number, order: readonly number[]) =>
    Promise.all(
      order.map((event) => accept(store, from + event, { task: { dedupKey: `${event}` } })),
    );
  const outcomes = await Promise.all([send(a, 0, events), send(b, 200, events.toReversed())]);
  const count = (outcome: string) =>
    outcomes.flat().filter((one) => one?.outcome === outcome).length;
  deepEqual([count("accepted"), count("duplicate")], [200, 200]);
}, DEFAULTS);

twoDaemonsTest("each group runs one task, whichever daemon stores its events", async ({ a, b }) => {
  const groups = range(0, 50);
  for (const round of range(0, 6)) {
    const send = (store: typeof a, from: number) =>
      Promise.all(groups.map((group) =>
        accept(store, 100 * round + from + group, {
          task: { concurrency: { policy: "Queue", key: `${round} ${group}`, max: 1 } },
        })
      ));
    await Promise.all([send(a, 0), send(b, 50)]);
  }
  const claims = await Promise.all([a, b].map((store) => store.claimTasks(999, Date.now())));
  equal(claims.flatMap(({ tasks }) => tasks).length, 300);
}, DEFAULTS);
