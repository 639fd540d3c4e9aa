/**
 * Random histories of calls: the same for the same seed, and for the same answers.
 *
 * @module
 */

import { chat } from "./chat_calls.ts";
import { recordDeliveries, recordDelivery, recordOthers } from "./event_calls.ts";
import { changeOthers, read } from "./other_calls.ts";
import { sendMessages } from "./outbox_calls.ts";
import { change, claimTasks, prune, work } from "./task_calls.ts";
import { type Call, call, type World } from "./world.ts";

/** Calls that are made at once, or a new start of the daemon. */
export type Step = readonly Call[] | "restart";

/** What happens, with how often it does. */
const HAPPENS: readonly (readonly [number, (world: World) => readonly Step[]])[] = [
  [24, (world) => [recordDelivery(world)]],
  [4, (world) => [recordDeliveries(world)]],
  [4, (world) => [recordOthers(world)]],
  [8, (world) => [[claimTasks(world)]]],
  [22, (world) => [[work(world)]]],
  [10, (world) => [[change(world)]]],
  [3, (world) => [[prune(world)]]],
  [14, (world) => [[chat(world)]]],
  [8, (world) => [[sendMessages(world)]]],
  [3, (world) => [[changeOthers(world)]]],
  [6, (world) => [[read(world)]]],
  [1, restart],
];
const TOTAL = HAPPENS.reduce((sum, [weight]) => sum + weight, 0);

/** What happens next. */
export function nextSteps(world: World): readonly Step[] {
  world.tick();
  let at = world.random.below(TOTAL);
  for (const [weight, make] of HAPPENS) {
    at -= weight;
    if (at < 0) return make(world);
  }
  return [];
}

/** A daemon takes over what it left running before it does anything else. */
function restart(world: World): readonly Step[] {
  world.restart();
  return ["restart", [call("claimInterrupted")]];
}
