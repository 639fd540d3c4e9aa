/**
 * How a rule gets its facts: one by one, none that it did not ask for, and never without end.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, throws } from "node:assert/strict";
import { settle } from "../../../src/store/rules/settle.ts";

interface Facts {
  readonly first: number;
  readonly second: number;
  readonly third: number;
}

Deno.test("settle fetches the facts that a rule asks for, in its order, and hands on the known ones", () => {
  const fetched: string[] = [];
  const fetch = (name: string, value: number) => (known: Partial<Facts>) => {
    fetched.push(`${name} ${JSON.stringify(known)}`);
    return value;
  };
  const decision = settle<Facts, { sum: number }>(({ first, third }) => {
    if (third === undefined) return { needs: "third" };
    if (first === undefined) return { needs: "first" };
    return { sum: first + third };
  }, { first: fetch("first", 1), second: fetch("second", 2), third: fetch("third", 3) });
  deepEqual(decision, { sum: 4 });
  deepEqual(fetched, ["third {}", 'first {"third":3}']);
});

Deno.test("settle refuses a rule that asks for a known fact", () => {
  throws(
    () => settle<{ one: number }, never>(() => ({ needs: "one" }), { one: () => 1 }),
    /"one" is known already/,
  );
});
