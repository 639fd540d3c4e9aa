import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { firstIdAt } from "../../../src/base/ids.ts";
import { askedAnew, decideWait, type WaitDecision } from "../../../src/store/rules/waits.ts";

const NOW = 1_000_000_000;
const MIN = 60_000;

const CASES: readonly [
  what: string,
  wait: { openedAt?: number; dueAt: number; isRelative?: boolean },
  decision: WaitDecision,
][] = [
  ["its time has not come", { dueAt: NOW + 1 }, { is: "open" }],
  ["its time is now", { dueAt: NOW }, { is: "over", part: 0, end: { by: "time" } }],
  ["its time passed long ago", { dueAt: NOW - 1e9 }, { is: "over", part: 0, end: { by: "time" } }],
  ["it was opened a little ahead", { openedAt: NOW + MIN, dueAt: NOW + 9 * MIN }, { is: "open" }],
  [
    "it was opened in a future, for ten minutes",
    { openedAt: NOW + 100 * MIN, dueAt: NOW + 110 * MIN, isRelative: true },
    { is: "moved", openedAt: NOW, dueAts: [NOW + 10 * MIN] },
  ],
  [
    "it was opened in a future, until a time",
    { openedAt: NOW + 100 * MIN, dueAt: NOW + 110 * MIN },
    { is: "moved", openedAt: NOW, dueAts: [NOW + 110 * MIN] },
  ],
  [
    "it was opened in a future, and its time has come all the same",
    { openedAt: NOW + 100 * MIN, dueAt: NOW - 1 },
    { is: "over", part: 0, end: { by: "time" } },
  ],
];

for (const [what, { openedAt = NOW - MIN, isRelative = false, ...wait }, decision] of CASES) {
  Deno.test(`a wait of which ${what}`, () => {
    deepEqual(decideWait({ openedAt, parts: [{ isRelative, ...wait }] }, NOW), decision);
  });
}

Deno.test("of several parts the one that was due first ends a wait", () => {
  const parts = [NOW + 1, NOW - 1, NOW - 2].map((dueAt) => ({ dueAt, isRelative: false }));
  deepEqual(decideWait({ openedAt: NOW - MIN, parts }, NOW), {
    is: "over",
    part: 2,
    end: { by: "time" },
  });
});

Deno.test("a wait that begins anew takes events from now on, if it took only later ones", () => {
  const part = { dueAt: NOW, isRelative: true, kind: "event" } as const;
  const at = (ms: number) => ({ from: firstIdAt(ms), if: "true" });
  deepEqual(askedAnew({ ...part, asked: at(NOW + MIN) }, NOW), at(NOW));
  deepEqual(askedAnew({ ...part, asked: at(NOW - MIN) }, NOW), at(NOW - MIN));
  deepEqual(askedAnew({ ...part, kind: "message", asked: { from: 7 } }, NOW), { from: 7 });
  deepEqual(askedAnew({ ...part, kind: "time" }, NOW), {});
});
