/**
 * What an adapter is: it knows the events that one program prints, a JSON object a line.
 *
 * @module
 */

import type { JsonObject } from "../base/json.ts";
import type { FailureKind } from "./agent_failure.ts";
import type { RunFacts } from "./run_facts.ts";

/** Reads the events of one run. Events of types that it does not know are no errors. */
export interface Adapter {
  /** Puts what an event says into the facts of the run; returns the lines that people read. */
  read(event: JsonObject): readonly string[];
  /** Lines that wait for a further event, when none comes. */
  end?(): readonly string[];
}

/** A program whose output can be read. */
export interface AdapterDefinition {
  /** The programs whose events it reads, each with the option without which it prints none. */
  readonly programs: ReadonlyMap<string, string>;
  /** An adapter for one run; `now` in milliseconds since the epoch. */
  readonly make: (facts: RunFacts, now: () => number) => Adapter;
  /** Type of the event that a run prints at its end, also where it never began. */
  readonly report?: string;
  /** What exit codes of the program mean. */
  readonly exitCodes?: Readonly<Record<number, FailureKind>>;
}
