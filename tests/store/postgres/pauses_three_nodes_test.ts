/**
 * A pause while three daemons claim: none takes a task once it stands.
 *
 * @module
 */

import { ok, strictEqual as equal } from "node:assert/strict";
import { systemClock } from "../../../src/base/clock.ts";
import { openPostgresStore } from "../../../src/store/postgres/open_store.ts";
import { accept } from "../../helpers/store_records.ts";
import { twoDaemonsTest } from "../../rigs/two_daemons.ts";
import { range } from "../contract/each_store.ts";
import { T0 } from "../contract/timed_tasks.ts";

/** Tasks that come in each round, of two projects in turn. */
const TASKS = 12;

twoDaemonsTest(
  "of three daemons none takes a task once a pause stands",
  async ({ url, a, b, sql }) => {
    const owner = { node: "c", run: "c1" };
    await using c = await openPostgresStore({ url, owner, clock: systemClock });
    const running = async (project: string) =>
      Number(
        (await sql((db) =>
          db.get(
            "SELECT count(*) AS n FROM tasks WHERE state = 'running' AND (?1 = '' OR project = ?1)",
            project,
          )
        ))?.["n"],
      );
    let [before, after] = [0, 0];
    for (const round of range(0, 16)) {
      for (const n of range(0, TASKS)) {
        await accept(a, round * TASKS + n, { project: n % 2 === 0 ? "shop" : "default" });
      }
      const project = round % 2 === 0 ? "" : "shop";
      const atStart = await running(project);
      const stop = new AbortController();
      const first = Promise.withResolvers<void>();
      const claims = [a, b, c].map(async (node) => {
        while (!stop.signal.aborted) {
          await node.claimTasks(1, T0);
          first.resolve();
        }
      });
      await first.promise; // the others are claiming when the pause begins
      await [a, b, c][round % 3]?.pauseTasks({ project, reason: "x", by: "ada", pausedAt: T0 });
      const atPause = await running(project);
      for (const node of [a, b, c]) await node.claimTasks(9, T0);
      stop.abort();
      await Promise.all(claims);
      equal(await running(project), atPause, "nothing was taken since");
      before += atPause - atStart;
      await a.resumeTasks(project, T0);
      while ((await c.claimTasks(99, T0)).tasks.length > 0);
      after += await running(project) - atPause;
      equal(await running(""), (round + 1) * TASKS, "each is taken in the end");
    }
    ok(before > 0 && after > 0, `${before} were taken before, ${after} after`);
  },
);
