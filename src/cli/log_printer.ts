/**
 * Prints the output of a task: unchanged, or with the step and the time before each line. The
 * output cannot control a terminal. Notes of svc about a step go to standard error, so that
 * standard output has only the output of the steps.
 *
 * @module
 */

import type { LogEntry } from "../api/task_operations.ts";
import { findBase64 } from "../base/bytes.ts";
import { rfc3339 } from "../base/clock.ts";
import type { Io } from "./io.ts";
import { type AssembledLine, LineAssembler } from "./line_assembler.ts";
import { PLAIN, styledLine, TerminalText } from "./terminal_text.ts";

/** The parts that are printed before each line. */
export interface LineStart {
  /** Id of its step. */
  readonly prefix: boolean;
  /** When it began, RFC 3339. */
  readonly timestamps: boolean;
}

type Source = Pick<LogEntry, "step" | "stream">;

/** Prints one task's output. */
export class LogPrinter {
  readonly #io: Io;
  readonly #start: LineStart;
  readonly #lines = new LineAssembler<Source>(keyOf);
  readonly #texts = new Map<string, TerminalText>();
  /** Whether there was anything to print. */
  printed = false;
  /** Whether standard output is in the middle of a line. */
  #inLine = false;

  constructor(io: Io, start: LineStart) {
    this.#io = io;
    this.#start = start;
  }

  print(entry: LogEntry): void {
    const { step, stream } = entry;
    const bytes = findBase64(entry.data) ?? new Uint8Array();
    this.printed = true;
    if (stream === "svc") return this.#printNotes(entry, new TextDecoder().decode(bytes));
    if (this.#start.prefix || this.#start.timestamps) {
      const piece = { at: Date.parse(entry.at), bytes };
      for (const line of this.#lines.push({ step, stream }, piece)) this.#printLine(line);
    } else {
      this.#io.out(this.#io.outIsTerminal ? this.#textOf(entry).clean(bytes) : bytes);
      if (bytes.length > 0) this.#inLine = bytes.at(-1) !== LINE_BREAK;
    }
  }

  /**
   * Prints a line on standard error; on a terminal it first ends an unfinished line of standard
   * output.
   */
  note(line: string): void {
    this.#io.err(`${this.#inLine ? "\n" : ""}${line}\n`);
    this.#inLine = false;
  }

  /** Prints the last line if it has no line break; to be called once, at the end. */
  end(): void {
    for (const line of this.#lines.flush()) this.#printLine(line);
    if (this.printed && this.#io.outIsTerminal) this.#io.out(PLAIN);
  }

  /** Prints notes of svc about a step, after all output until then. */
  #printNotes({ step, at }: LogEntry, text: string): void {
    for (const line of this.#lines.flush()) this.#printLine(line);
    const start = this.#startOf(step, Date.parse(at));
    for (const line of text.split("\n").slice(0, -1)) this.note(`${start}${line}`);
  }

  #startOf(step: string, at: number): string {
    const { prefix, timestamps } = this.#start;
    return (prefix ? `[${step}] ` : "") + (timestamps ? `${rfc3339(at)} ` : "");
  }

  #printLine({ at, source, bytes }: AssembledLine<Source>): void {
    const start = this.#startOf(source.step, at);
    const isWhole = bytes.at(-1) === LINE_BREAK;
    this.#io.out(start);
    if (!this.#io.outIsTerminal) {
      this.#io.out(bytes);
      if (!isWhole) this.#io.out("\n");
      return;
    }
    const text = new TextDecoder().decode(isWhole ? bytes.subarray(0, -1) : bytes);
    this.#io.out(styledLine(text.replace(/\r$/, "")));
    this.#io.out("\n");
  }

  /** Characters and sequences are cut by chunks of their own stream only. */
  #textOf(entry: LogEntry): TerminalText {
    const key = keyOf(entry);
    const text = this.#texts.get(key) ?? new TerminalText();
    this.#texts.set(key, text);
    return text;
  }
}

const LINE_BREAK = 10;

function keyOf({ step, stream }: Source): string {
  return `${step}\n${stream}`;
}
