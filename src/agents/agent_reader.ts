/**
 * Reads what one run of an agent prints: its lines for people, and what it says about the run.
 *
 * @module
 */

import { isJsonObject, type JsonObject, parseJson } from "../base/json.ts";
import type { Adapter, AdapterDefinition } from "./adapter.ts";
import { textIn } from "./fields.ts";
import type { AgentFailure } from "./agent_failure.ts";
import { type Line, LineSplitter } from "./lines.ts";
import { RunFacts } from "./run_facts.ts";

/** Reads one run. */
export class AgentReader {
  readonly facts: RunFacts;
  readonly #definition: AdapterDefinition;
  readonly #adapter: Adapter;
  readonly #out = new LineSplitter();
  readonly #err = new LineSplitter();
  #hasBegun = false;

  /** `now` in milliseconds since the epoch. */
  constructor(definition: AdapterDefinition, now: () => number) {
    this.#definition = definition;
    this.facts = new RunFacts(now);
    this.#adapter = definition.make(this.facts, now);
  }

  /** Reads a chunk of standard output; returns whole lines for people, empty if there are none. */
  readOutput(chunk: Uint8Array): string {
    return toText(this.#out.push(chunk).flatMap((line) => this.#read(line)));
  }

  /** Reads a chunk of standard error, which people see as it is. */
  readErrors(chunk: Uint8Array): void {
    this.#hear(this.#err.push(chunk));
  }

  /** The last lines for people, when the agent has ended. */
  end(): string {
    this.#hear(this.#err.flush());
    const last = this.#out.flush().flatMap((line) => this.#read(line));
    return toText([...last, ...this.#adapter.end?.() ?? []]);
  }

  /** Why the run failed, as far as the agent told; `undefined` if it told nothing. */
  failure(exitCode: number): AgentFailure | undefined {
    const kind = this.#definition.exitCodes?.[exitCode];
    const told = this.facts.likelyFailure;
    if (kind === undefined || told !== undefined && told.kind !== "error") return told;
    return { kind, message: told?.message ?? "" };
  }

  /**
   * Whether a run that was to go on with a session, and failed by itself, did not find it: every program
   * says so before its first event. Where an API fails, a run has begun.
   */
  hasLostSession(exitCode: number): boolean {
    return !this.#hasBegun && isOfProgram(exitCode) &&
      (this.failure(exitCode)?.kind ?? "error") === "error";
  }

  #read(line: Line): readonly string[] {
    if ("tooLong" in line) return [`[svc: a line of ${line.tooLong} bytes is not shown]`];
    const event = findEvent(line.text);
    if (event !== undefined) {
      if (textIn(event, "type") !== this.#definition.report) this.#hasBegun = true;
      return this.#adapter.read(event);
    }
    this.facts.hint(line.text);
    return [line.text];
  }

  #hear(lines: readonly Line[]): void {
    for (const line of lines) if ("text" in line) this.facts.hint(line.text);
  }
}

/** Whether a program failed by itself, and was there: 126 and 127 are of the shell. */
export function isOfProgram(exitCode: number): boolean {
  return exitCode !== 0 && exitCode !== 126 && exitCode !== 127;
}

/** The event of a line; `undefined` where it is no JSON object, or one that is too large. */
function findEvent(text: string): JsonObject | undefined {
  if (!text.trimStart().startsWith("{")) return undefined;
  try {
    const event = parseJson(text);
    return isJsonObject(event) ? event : undefined;
  } catch {
    return undefined;
  }
}

function toText(lines: readonly string[]): string {
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
}
