/** Rules for child tasks. */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import {
  decideChildren,
  decideRoom,
  MAX_BELOW,
  MAX_LEVELS,
  type TakenRoom,
  whyNoChild,
} from "../../../src/store/rules/children.ts";
import type { TaskState } from "../../../src/store/task_records.ts";

const OVER = { is: "over" } as const;
const start = (...items: number[]) => ({ is: "open", start: items }) as const;

/** Items, most at once, the states of the children in the order of their items, and what follows. */
const CASES: readonly [number, number, readonly TaskState[], unknown][] = [
  [1, 1, [], start(0)],
  [1, 1, ["pending"], start()],
  [1, 1, ["running"], start()],
  [1, 1, ["waiting"], start()],
  [1, 1, ["succeeded"], OVER],
  [1, 1, ["failed"], OVER],
  [1, 1, ["cancelled"], OVER],
  [0, 4, [], OVER],
  [10, 4, [], start(0, 1, 2, 3)],
  [10, 4, ["running", "running", "running", "running"], start()],
  [10, 4, ["running", "succeeded", "waiting", "running"], start(4)],
  [3, 4, ["succeeded", "succeeded", "running"], start()],
  [3, 4, ["succeeded", "succeeded", "succeeded"], OVER],
  [10, 4, ["running", "failed", "waiting", "running"], start()],
  [10, 4, ["succeeded", "failed", "succeeded"], OVER],
  [10, 4, ["cancelled"], OVER],
];

for (const [items, maxParallel, states, expected] of CASES) {
  Deno.test(`${items} items, ${maxParallel} at once, ${states.join(" ") || "none made"}`, () => {
    const children = states.map((state, item) => ({ item, state }));
    deepEqual(decideChildren({ items, maxParallel }, children), expected);
  });
}

Deno.test("a task is bounded in what is above and below it", () => {
  const few = { level: 0, below: 0, more: 1 };
  equal(whyNoChild(few), undefined);
  equal(whyNoChild({ ...few, level: MAX_LEVELS - 1 }), undefined);
  match(whyNoChild({ ...few, level: MAX_LEVELS }) ?? "", /does a workflow start itself/);
  equal(whyNoChild({ ...few, below: MAX_BELOW - 4, more: 4 }), undefined);
  match(whyNoChild({ ...few, below: MAX_BELOW - 3, more: 4 }) ?? "", /at most 1000 tasks/);
});

const shared = (workspace: string, max?: number): TakenRoom =>
  max === undefined ? { workspace, isShared: true } : { workspace, isShared: true, max };
const own = (workspace: string, max: number): TakenRoom => ({ workspace, isShared: false, max });

const ROOMS: readonly [string, TakenRoom, readonly TakenRoom[], string][] = [
  ["no limit anywhere", shared("a"), [shared("a")], "own"],
  ["the limited directory of the task above", shared("a", 1), [shared("a", 1)], "above"],
  ["that of one further above", shared("a", 1), [own("b", 1), shared("a", 1)], "above"],
  ["a limit below one without", shared("b", 1), [shared("a")], "own"],
  ["worktrees below worktrees", own("a", 1), [own("a", 1)], "own"],
  ["a limited directory below worktrees", shared("b", 1), [own("a", 1)], "own"],
  ["worktrees below a limited directory", own("b", 1), [shared("a", 1)], "own"],
  ["one limited directory below another", shared("b", 1), [shared("a", 1)], "refused"],
  ["the same two levels down", shared("b", 1), [own("c", 1), shared("a", 1)], "refused"],
];

for (const [name, child, above, expected] of ROOMS) {
  Deno.test(`the room of a child: ${name}`, () => {
    const decision = decideRoom(child, above);
    equal("refused" in decision ? "refused" : decision.room, expected);
  });
}
