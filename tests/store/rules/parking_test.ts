import { strictEqual as equal } from "node:assert/strict";
import {
  decidePark,
  type ParkDecision,
  type ParkedTask,
} from "../../../src/store/rules/parking.ts";

const NOTHING: ParkedTask = {
  hasTurn: false,
  isQueued: false,
  hasTime: false,
  hasWait: false,
  hasNews: false,
  isCancelled: false,
  isEnding: false,
  hasOwnFiles: false,
};

const INSIDE = "waits in its room";
const OUTSIDE = "waits outside";
const CASES: readonly [Partial<ParkedTask>, ParkDecision][] = [
  [{}, "ready"],
  [{ hasOwnFiles: true }, "ready"],
  [{ isQueued: true }, INSIDE],
  [{ hasTime: true }, INSIDE],
  [{ hasWait: true }, INSIDE],
  [{ hasWait: true, hasTime: true, hasOwnFiles: true }, OUTSIDE],
  [{ hasWait: true, hasOwnFiles: true }, OUTSIDE],
  [{ hasWait: true, isQueued: true, hasOwnFiles: true }, INSIDE],
  [{ hasTime: true, hasOwnFiles: true }, INSIDE],
  [{ isQueued: true, hasTurn: true }, "ready"],
  [{ hasWait: true, hasTurn: true, hasOwnFiles: true }, "ready"],
  [{ hasWait: true, hasNews: true, hasOwnFiles: true }, "ready"],
  [{ hasTime: true, hasNews: true }, "ready"],
  [{ isQueued: true, hasTime: true, isCancelled: true }, "ready"],
  [{ hasWait: true, isCancelled: true }, "ready"],
  [{ isQueued: true, isCancelled: true, isEnding: true }, INSIDE],
  [{ isQueued: true, hasTurn: true, isCancelled: true, isEnding: true }, "ready"],
  [{ isEnding: true }, "ready"],
];

for (const [facts, decision] of CASES) {
  Deno.test(`a task with ${Object.keys(facts).join(", ") || "nothing"}: ${decision}`, () => {
    equal(decidePark({ ...NOTHING, ...facts }), decision);
  });
}
