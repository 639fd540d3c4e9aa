/**
 * The daemon's log: one line per event whatever is in it, levels, both formats.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { AppError } from "../../src/base/errors.ts";
import {
  createLog,
  LOG_FORMATS,
  LOG_LEVELS,
  type LogFields,
  type LogFormat,
  type LogLevel,
} from "../../src/base/log.ts";

function written(format: LogFormat, fields: LogFields, level: LogLevel = "debug"): string[] {
  const lines: string[] = [];
  const clock = { now: () => 1_700_000_000_123 };
  const log = createLog({ level, format, clock, write: (line) => lines.push(line) });
  for (const each of LOG_LEVELS) log[each]("happened", fields);
  return lines;
}

const line = (format: LogFormat, fields: LogFields) => written(format, fields, "error")[0] ?? "";

Deno.test("createLog pretty lines hold time, level, message and fields in order", () => {
  deepEqual(written("pretty", { task: "01AB", n: 3, text: "two words", none: null, empty: "" }), [
    '2023-11-14T22:13:20.123Z DEBUG happened task=01AB n=3 text="two words" none=null empty=""',
    '2023-11-14T22:13:20.123Z INFO  happened task=01AB n=3 text="two words" none=null empty=""',
    '2023-11-14T22:13:20.123Z WARN  happened task=01AB n=3 text="two words" none=null empty=""',
    '2023-11-14T22:13:20.123Z ERROR happened task=01AB n=3 text="two words" none=null empty=""',
  ]);
});

Deno.test("createLog json lines are one JSON object each", () => {
  deepEqual(JSON.parse(line("json", { task: "01AB", list: [1] })), {
    time: "2023-11-14T22:13:20.123Z",
    level: "error",
    message: "happened",
    task: "01AB",
    list: [1],
  });
});

for (const [index, level] of LOG_LEVELS.entries()) {
  Deno.test(`createLog at level ${level} writes that level and those after it`, () => {
    const levels = written("json", {}, level).map((each) => JSON.parse(each).level);
    deepEqual(levels, LOG_LEVELS.slice(index));
  });
}

/** Values that would forge a line or drive a terminal if they were written as they are. */
const HOSTILE: readonly [string, string][] = [
  ["a line break", "a\n2023-11-14T22:13:20.123Z ERROR forged"],
  ["a carriage return", "a\rforged"],
  ["a terminal escape", "\x1b[2Jx"],
  ["NUL and BEL", "a\0\x07b"],
  ["quotes and blanks", 'a" level=error b="'],
  ["an equals sign", "a=b"],
];

for (const format of LOG_FORMATS) {
  for (const [what, value] of HOSTILE) {
    Deno.test(`createLog ${format} keeps ${what} inside its value`, () => {
      const text = line(format, { value });
      // deno-lint-ignore no-control-regex -- control characters are what must not be there
      equal(/[\x00-\x1f]/.test(text), false);
      equal(text.includes(JSON.stringify(value)), true);
    });
  }

  for (const [what, value] of [["DEL", "a\x7fb"], ["C1 CSI", "\x9b2J"], ["NEL", "a\x85b"]]) {
    Deno.test(`createLog ${format} escapes ${what}, which terminals obey too`, () => {
      equal(/[\x7f-\x9f]/.test(line(format, { value })), false);
    });
  }

  Deno.test(`createLog ${format} shows the stack of a bug and only the message of a refusal`, () => {
    const refusal = line(format, { error: new AppError("invalid", "Cannot do it") });
    match(refusal, /Cannot do it/);
    equal(refusal.includes("log_test.ts"), false);
    match(line(format, { error: new TypeError("a bug") }), /TypeError: a bug.*log_test\.ts/);
  });

  Deno.test(`createLog ${format} shows the cause of a refusal`, () => {
    const error = new AppError("internal", "Outer", { cause: new Error("inner") });
    match(line(format, { error }), /Outer.*inner/);
  });

  Deno.test(`createLog ${format} shows every error of a cause chain`, () => {
    const cause = new Error("middle", { cause: new Error("root of it") });
    match(line(format, { error: new AppError("internal", "Outer", { cause }) }), /root of it/);
  });

  Deno.test(`createLog ${format} writes a line for a value JSON cannot hold`, () => {
    const circle: Record<string, unknown> = {};
    circle["self"] = circle;
    match(line(format, { n: 10n }), /happened.*10/);
    match(line(format, { circle }), /happened/);
  });
}

Deno.test("createLog json fields do not replace time, level and message", () => {
  const fields = { level: "debug", time: "never", message: "other" };
  const { level, time, message } = JSON.parse(line("json", fields));
  deepEqual([level, time, message], ["error", "2023-11-14T22:13:20.123Z", "happened"]);
});

for (const format of LOG_FORMATS) {
  Deno.test(`createLog hides in ${format} lines, wherever in an event it stands`, () => {
    const lines: string[] = [];
    const clock = { now: () => 1_700_000_000_123 };
    const log = createLog({ level: "info", format, clock, write: (line) => lines.push(line) });
    log.redactWith((line) => line.replaceAll("s3cr3t", "***"));
    const error = new Error("s3cr3t in it", { cause: new Error("s3cr3t below") });
    log.warn("of s3cr3t", { "key s3cr3t": 1, bare: "s3cr3t", list: [{ deep: "s3cr3t" }], error });
    equal(lines.join().includes("s3cr3t"), false, lines.join());
    equal(lines.join().split("***").length > 6, true);
  });
}
