/**
 * What the daemon answers, as a text that a language model reads: short, and never longer than a
 * bound. Pure.
 *
 * @module
 */

import type { Output } from "../api/operations.ts";
import { toJson } from "../base/json.ts";
import type { Piece } from "../base/outside_marks.ts";

/** Most characters of an answer, about 12,000 tokens. */
const MOST_CHARACTERS = 48_000;

/** The operations whose answers are not shown as they are. */
const TEXTS: Readonly<Record<string, (answer: never) => string>> = {
  get: ({ items, more_before }: Output<"get">) =>
    toJson(more_before === undefined ? { items } : { items, before: more_before }),
  "task.log.read": ({ lines, at_start, start }: Output<"task.log.read">) => {
    const more = at_start ? "" : `earlier lines: before ${start}\n`;
    return more + lastLines(lines.map(({ step, text }) => `${step} | ${text}\n`));
  },
  "task.inbox": ({ messages }: Output<"task.inbox">) =>
    messages.length === 0
      ? "No messages"
      : messages.map(({ message }) => `${toJson(message)}\n`).join(""),
};

/** As many of the last lines as there is room for. */
function lastLines(lines: readonly string[]): string {
  let room = MOST_CHARACTERS - 200;
  const from = lines.findLastIndex((line) => (room -= line.length) < 0) + 1;
  const left = from === 0
    ? ""
    : `(${from} lines are left out here: look for words with contains)\n`;
  return left + lines.slice(from).join("");
}

/** Lines of a stream that say nothing to a model. */
const IDLE: Readonly<Record<string, (line: never) => boolean>> = {
  "trigger.backtest": (line: Output<"trigger.backtest">) =>
    "delivery_id" in line ? line.unchanged : !("done" in line),
};

/** The answer of an operation. */
export function textOfAnswer(operation: string, answer: unknown): string {
  return TEXTS[operation]?.(answer as never) ?? toJson(answer);
}

/** The lines of a stream: the first ones, as many as there is room for, and the last. */
export class StreamText {
  readonly #isIdle: (line: never) => boolean;
  readonly #kept: string[] = [];
  #length = 0;
  #left = 0;
  #last: string | undefined;

  /** For the lines of an operation. */
  constructor(operation: string) {
    this.#isIdle = IDLE[operation] ?? (() => false);
  }

  /** Takes the next line. */
  add(line: unknown): void {
    if (this.#isIdle(line as never)) return;
    if (this.#last !== undefined) this.#keep(this.#last);
    this.#last = toJson(line);
  }

  /** The text, once the stream has ended. */
  end(): string {
    const left = this.#left === 0 ? [] : [`(${this.#left} more lines are left out here)`];
    return [...this.#kept, ...left, this.#last ?? "Nothing"].join("\n");
  }

  #keep(line: string): void {
    this.#length += line.length;
    if (this.#length <= MOST_CHARACTERS / 2) this.#kept.push(line);
    else this.#left++;
  }
}

/** A piece that is not too long. A half of a surrogate pair at the cut becomes U+FFFD. */
export function bounded(piece: Piece): Piece {
  const { text } = piece;
  if (text.length <= MOST_CHARACTERS) return piece;
  const left = text.length - MOST_CHARACTERS;
  const cut = text.slice(0, MOST_CHARACTERS).toWellFormed();
  return { ...piece, text: `${cut}\n(${left} more characters are left out: ask for less)` };
}
