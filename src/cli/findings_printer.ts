/**
 * Prints the findings of `svc doctor` and `svc agent check` as they come, each on one line or more.
 *
 * @module
 */

import type { DoctorFinding, DoctorLine } from "../api/doctor_operations.ts";
import { type Clock, systemClock } from "../base/clock.ts";
import { type Io, isColoured } from "./io.ts";
import { jsonText } from "./json_text.ts";
import { wrapped } from "./table.ts";
import { CLEAR_LINE, green, printable, red, yellow } from "./terminal_text.ts";

const COLOURS = { ok: green, warning: yellow, failed: red };
/** Width of the column of results, by which the lines below a finding are indented. */
const INDENT = 9;
/**
 * Width of a terminal that does not tell its own, and the least width to which sentences are
 * wrapped, in columns.
 */
const [USUAL_COLUMNS, LEAST_COLUMNS] = [80, 40];
/** A check that takes longer than this is named while it lasts. */
const QUIET_MS = 1000;

/** Collects findings, and prints each where it is wanted. */
export class FindingsPrinter implements Disposable {
  readonly found: DoctorFinding[] = [];
  readonly #io: Io;
  readonly #isQuiet: boolean;
  readonly #clock: Pick<Clock, "after">;
  #timer: Disposable | undefined;
  #isShown = false;

  /** With `isQuiet` it prints nothing before the end, and then JSON. */
  constructor(io: Io, isQuiet: boolean, clock: Pick<Clock, "after"> = systemClock) {
    this.#io = io;
    this.#isQuiet = isQuiet;
    this.#clock = clock;
  }

  async take(lines: AsyncIterable<DoctorLine>): Promise<void> {
    for await (const line of lines) {
      if ("begins" in line) this.#begin(line.begins);
      else await this.#print(line.finding);
    }
    this.#end();
  }

  /** Waits for `work`, which the check of this name needs, and shows the name if it takes long. */
  async during<T>(check: string, work: Promise<T>): Promise<T> {
    this.#begin(check);
    try {
      return await work;
    } finally {
      this.#end();
    }
  }

  /** How many findings have a result. */
  howMany(result: DoctorFinding["result"]): number {
    return this.found.filter((one) => one.result === result).length;
  }

  /** Prints the result of all checks; returns the exit code, which warnings do not change. */
  finish(): number {
    const [well, warnings, failed] = (["ok", "warning", "failed"] as const)
      .map((result) => this.howMany(result));
    if (this.#isQuiet) {
      const result = failed ? "failed" : warnings ? "warning" : "ok";
      this.#io.out(jsonText({ result, findings: this.found }));
    } else {
      const noun = warnings === 1 ? "warning" : "warnings";
      this.#io.out(`\n${well} ok, ${warnings} ${noun}, ${failed} failed\n`);
    }
    return failed ? 1 : 0;
  }

  [Symbol.dispose](): void {
    this.#end();
  }

  #begin(check: string): void {
    this.#end();
    if (!this.#io.outIsTerminal) return;
    this.#timer = this.#clock.after(QUIET_MS, () => {
      this.#isShown = true;
      this.#io.err(`looking at: ${printable(check)} …`);
    });
  }

  #end(): void {
    this.#timer?.[Symbol.dispose]();
    if (this.#isShown) this.#io.err(CLEAR_LINE);
    this.#isShown = false;
  }

  async #print(finding: DoctorFinding): Promise<void> {
    this.#end();
    this.found.push(finding);
    if (this.#isQuiet) return;
    const { check, result, message } = finding;
    const io = this.#io;
    io.out(isColoured(io) ? COLOURS[result](result) : result);
    const room = Math.max(io.columns || USUAL_COLUMNS, LEAST_COLUMNS) - INDENT;
    const lines = await wrapped(printable(`${check}: ${message}`), room);
    const text = lines.join(`\n${" ".repeat(INDENT)}`);
    io.out(`${" ".repeat(INDENT - result.length)}${text}\n`);
  }
}
