/**
 * `svc db move`: what PostgreSQL holds after it is what the file held.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { postgresTest } from "../helpers/postgres.ts";
import { times } from "../helpers/program.ts";
import { moveRig } from "../rigs/move_rig.ts";
import { answer, holding, withoutNodes } from "../store/differential/compare.ts";
import { nextSteps } from "../store/differential/history.ts";
import { World } from "../store/differential/world.ts";
import { range } from "../store/contract/each_store.ts";

const SEEDS = times(3, 1);
const STEPS = 200;

/** Workers end the steps and turns of a task before it ends; histories do not. */
const AS_WORKERS_END = `
  DELETE FROM turns WHERE task_id NOT IN (SELECT id FROM tasks WHERE finished_at IS NULL);
  UPDATE steps SET state = 'failed', finished_at = started_at WHERE state IN ('running', 'waiting')
    AND task_id NOT IN (SELECT id FROM tasks WHERE state IN ('running', 'waiting'));`;

async function moveHistory(seed: number): Promise<void> {
  await using rig = await moveRig(0);
  const world = new World(seed);
  let store = await rig.open();
  let held: unknown;
  try {
    for (let made = 0; made < STEPS;) {
      for (const step of nextSteps(world)) {
        made++;
        if (step === "restart") {
          await store[Symbol.asyncDispose]();
          store = await rig.open();
          continue;
        }
        const said = await Promise.all(step.map((one) => answer(store, one)));
        step.forEach((one, at) => world.learn(one, said[at]));
      }
    }
  } finally {
    await store[Symbol.asyncDispose]();
  }
  rig.change(AS_WORKERS_END);
  {
    await using store = await rig.open();
    held = withoutNodes(await holding(store));
  }
  const { compared, kept } = await rig.move();
  equal(compared > 0, true);
  match(kept ?? "", /svc\.db\.moved-\d{8}T\d{6}Z$/);
  await using moved = await rig.openMoved();
  deepEqual(withoutNodes(await holding(moved)), held, `seed ${seed}`);
}

postgresTest(`a random history is the same after a move${SEEDS.inName}`, async () => {
  for (const seed of range(1, SEEDS.count + 1)) await moveHistory(seed);
}, { isLong: false });
