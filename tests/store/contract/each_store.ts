/**
 * The contract of `Store`: a case is a test for each implementation, judged through the interface
 * alone.
 *
 * @module
 */

import type { Store } from "../../../src/store/store.ts";
import { IMPLEMENTATIONS, type TestedStore } from "./implementations.ts";

/** Registers a test for each implementation, with an empty store. */
export function eachStore(
  name: string,
  body: (store: Store, tested: TestedStore) => Promise<void>,
): void {
  for (const implementation of IMPLEMENTATIONS) {
    implementation.test(`${implementation.name}: ${name}`, async () => {
      await using tested = await implementation.open();
      await body(tested.store, tested);
    });
  }
}

/** The numbers from `from` up to, not including, `to`. */
export function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}

/** The number an id was made of. */
export function numberOf(id: string): number {
  return Number(id.slice(-6));
}
