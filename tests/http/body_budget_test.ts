/**
 * The budget of bytes under way: who may take how much of it, whatever others take, and that all of
 * it comes back.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal, throws } from "node:assert/strict";
import { BodyBudget, type HeldBytes } from "../../src/http/body_budget.ts";

const KIB = 1024;
const MOST = 1024 * KIB;
const SMALL = 32 * KIB;
const LARGE = 128 * KIB;

/** Takes parts of bodies that state `stated` until there is no room; how many bytes that were. */
function fill(budget: BodyBudget, owner: string, stated: number | undefined): number {
  const held = budget.hold(owner);
  for (let bytes = 0;; bytes += KIB) {
    try {
      held.take(KIB, stated);
    } catch {
      return bytes;
    }
  }
}

const takes = (held: HeldBytes, bytes: number, stated?: number) => {
  try {
    held.take(bytes, stated);
    return true;
  } catch {
    return false;
  }
};

Deno.test("large bodies of one owner get half, those of all three quarters", () => {
  const budget = new BodyBudget(MOST);
  equal(fill(budget, "a", LARGE), MOST / 2);
  equal(fill(budget, "b", LARGE), MOST / 4);
  equal(fill(budget, "c", LARGE), 0);
  equal(budget.inUse, MOST * 3 / 4);
});

Deno.test("small bodies have room that large ones cannot take, also of the same owner", () => {
  const budget = new BodyBudget(MOST);
  fill(budget, "a", LARGE);
  ok(takes(budget.hold("a"), SMALL, SMALL), "beside its own large ones");
  fill(budget, "b", LARGE);
  fill(budget, "c", LARGE);
  ok(takes(budget.hold("d"), SMALL, SMALL), "beside everybody's large ones");
});

Deno.test("bodies of one owner leave a quarter for the others", () => {
  const budget = new BodyBudget(MOST);
  fill(budget, "a", LARGE);
  fill(budget, "a", SMALL);
  fill(budget, "a", undefined);
  equal(budget.inUse, MOST * 3 / 4);
  equal(fill(budget, "b", SMALL), MOST / 4);
});

Deno.test("a body without a stated length is none of the small ones", () => {
  const budget = new BodyBudget(MOST);
  equal(fill(budget, "a", undefined), MOST / 2);
});

Deno.test("lengths that are only stated take a quarter and no more, and what arrives has room", () => {
  const budget = new BodyBudget(MOST);
  const owners = ["a", "b", "c"];
  let granted = 0;
  for (let n = 0; n < 1000; n++) {
    if (budget.hold(owners[n % 3] ?? "").expect(SMALL)) granted++;
  }
  equal(granted * SMALL, MOST / 4);
  equal(budget.hold("d").expect(1), false);
  ok(takes(budget.hold("d"), SMALL, SMALL));
});

Deno.test("a small body that has arrived makes room for the next that is expected", () => {
  const budget = new BodyBudget(MOST);
  for (let n = 0; n < MOST / 2 / SMALL; n++) {
    const held = budget.hold("a");
    ok(held.expect(SMALL), `the ${n}th`);
    held.arrived();
  }
  equal(budget.inUse, MOST / 2);
});

Deno.test("a large body is never granted its length before it arrives", () => {
  equal(new BodyBudget(1 << 30).hold("a").expect(65 * KIB), false);
});

Deno.test("everything is given back once, whatever was taken and refused", () => {
  const budget = new BodyBudget(MOST);
  const [one, two, three] = [budget.hold("a"), budget.hold("a"), budget.hold("b")];
  one.expect(SMALL);
  two.take(LARGE, LARGE);
  takes(two, MOST, LARGE);
  three.expect(SMALL);
  three.arrived();
  for (const held of [one, two, three, one, three]) held.release();
  equal(budget.inUse, 0);
  deepEqual([fill(budget, "a", LARGE), fill(budget, "b", SMALL)], [MOST / 2, MOST / 2]);
});

Deno.test("what arrives after the end has no room, and is not counted", () => {
  const budget = new BodyBudget(MOST);
  const held = budget.hold("a");
  held.release();
  throws(() => held.take(1, 1), { name: "AppError", code: "overloaded" });
  equal(budget.inUse, 0);
});

Deno.test("owners that hold something are never forgotten, however many names come", () => {
  const budget = new BodyBudget(MOST);
  const held = budget.hold("first");
  held.take(MOST / 2, LARGE);
  for (let n = 0; n < 80_000; n++) {
    const other = budget.hold(`n${n}`);
    other.take(1, 1);
    other.release();
  }
  equal(takes(budget.hold("first"), KIB, LARGE), false);
  held.release();
  ok(takes(budget.hold("first"), KIB, LARGE));
});
