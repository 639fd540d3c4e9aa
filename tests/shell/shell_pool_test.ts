/**
 * The pool of shells, over a clock that the test moves: when there is a shell, and when it ends.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  notStrictEqual,
  ok,
  strictEqual as equal,
} from "node:assert/strict";
import { findSetsid } from "../../src/shell/process_groups.ts";
import type { PooledShell } from "../../src/shell/pooled_shell.ts";
import { ShellPool } from "../../src/shell/shell_pool.ts";
import { ManualClock } from "../helpers/manual_clock.ts";
import { missing, skippable } from "../helpers/requirements.ts";
import { processRuns } from "../helpers/until.ts";

interface Bench {
  readonly clock: ManualClock;
  readonly pool: ShellPool;
  /** The groups that the pool has ended. */
  readonly ended: readonly number[];
  /** A shell of the pool, which has had a line before. */
  take(name?: string): Promise<PooledShell>;
}

function test(name: string, body: (bench: Bench) => Promise<void>, reaper = "1"): void {
  Deno.test({
    ...skippable(name, missing("dash")),
    async fn() {
      const clock = new ManualClock();
      const ended: number[] = [];
      await using pool = new ShellPool({
        clock,
        setsid: findSetsid(),
        findReaper: () => Promise.resolve(reaper),
        endLeft: (group) => Promise.resolve(void ended.push(group)),
      });
      const taken = new Set<PooledShell>();
      const take = async (name = "a") => {
        for (;;) {
          const shell = pool.take(name);
          if (shell !== undefined) return taken.add(shell), shell;
          await Promise.resolve();
        }
      };
      await body({ clock, pool, ended, take });
      for (const shell of taken) shell.close();
      await Promise.all(
        [...taken].flatMap(({ ended, pumps }) => [ended, ...pumps.map((one) => one.done)]),
      );
    },
  });
}

test("the first line of a pool gets none, and the second does", async ({ pool, take }) => {
  equal(pool.take("a"), undefined);
  const shell = await take();
  equal(pool.take("b"), undefined, "another pool");
  pool.put("a", shell);
  equal(pool.take("a"), shell);
  notStrictEqual(await take(), shell, "it is in use");
});

test("where the children of the reaper cannot be read there is none", async ({ pool }) => {
  for (let n = 0; n < 5; n++) {
    equal(pool.take("a"), undefined);
    await Promise.resolve();
  }
}, "");

test("an idle shell ends after ten seconds, with what is left of its group", async ({ clock, pool, ended, take }) => {
  const shell = await take();
  await clock.advance(9_000);
  pool.put("a", shell);
  await clock.advance(9_000);
  equal(shell.isEnded, false);
  await clock.advance(12_000);
  await shell.ended;
  await pool[Symbol.asyncDispose]();
  deepEqual(ended, [shell.group]);
  equal(await processRuns(shell.group), false);
});

test("a pool that no line used is forgotten, also while a line of it runs", async ({ clock, pool, take }) => {
  const shell = await take();
  await clock.advance(30_000);
  equal(pool.take("a"), undefined, "as for the first line");
  pool.put("a", shell);
  equal(pool.take("a"), shell);
});

test("a shell is not used again after a minute, and a dead one never", async ({ clock, pool, take }) => {
  const old = await take();
  for (let n = 0; n < 7; n++) {
    await clock.advance(9_000);
    pool.put("a", old);
    if (n < 6) equal(pool.take("a"), old);
  }
  const next = await take();
  notStrictEqual(next, old);
  await old.ended;
  pool.put("a", next);
  Deno.kill(next.group, "SIGKILL");
  await next.ended;
  notStrictEqual(await take(), next);
});

test("no more than 32 shells are idle, and all end with their owner", async ({ pool, ended, take }) => {
  const shells = await Promise.all(Array.from({ length: 40 }, () => take()));
  for (const shell of shells) pool.put("a", shell);
  await Promise.all(shells.slice(32).map((shell) => shell.ended));
  equal(shells.slice(0, 32).some(({ isEnded }) => isEnded), false);
  await pool[Symbol.asyncDispose]();
  ok(shells.every(({ isEnded }) => isEnded));
  equal(ended.length, 40);
  equal(pool.take("a"), undefined);
});
