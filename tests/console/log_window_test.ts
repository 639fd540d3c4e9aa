/**
 * What the page holds of a log: a bounded part without gaps, wherever it is moved to, and what is
 * looked for in the rest.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { findInFile, findText } from "../../console/page/pages/log/find.ts";
import { lineName, LogWindow, type ReadLog } from "../../console/page/pages/log/window.ts";
import { utf8 } from "../../src/base/bytes.ts";
import { lineView } from "../../src/control/tasks/log_read.ts";
import { encodeChunk } from "../../src/tasks/log/log_format.ts";
import { LogFile } from "../../src/store/files/log_file.ts";
import { LogFollower, readBackwards } from "../../src/tasks/log/log_pages.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { NOT_SLOW } from "../helpers/program.ts";
import { skippable } from "../helpers/requirements.ts";

const LINES = 40_000;
const LIMITS = { lines: 4000, characters: 1_000_000, page: 1000 };
/** A search looks at so many bytes in one call: several calls for this log. */
const LOOKED_AT = 64 * 1024;

const piece = (text: string, step = "a") =>
  encodeChunk({ at: 1_700_000_000_000, step, stream: "out", bytes: utf8(text) });

/** Pieces of one to seven lines; some end within a line, which the next one ends. */
function someLog(): string {
  const parts: string[] = [];
  for (let line = 0; line < LINES;) {
    const count = Math.min(1 + line % 7, LINES - line);
    const text = Array.from({ length: count }, (_, index) => `line ${line + index}\n`).join("");
    const cut = line % 3 === 0 ? text.length - 2 : text.length;
    parts.push(piece(text.slice(0, cut)));
    if (cut < text.length) parts.push(piece(text.slice(cut)));
    line += count;
  }
  return parts.join("");
}

/** Reads a file as the daemon does; counts the calls. */
function reader(path: string): { readonly read: ReadLog; readonly calls: () => number } {
  let calls = 0;
  const log = new LogFile(path);
  const read: ReadLog = async ({ before, after, limit, contains, stream, step }) => {
    calls++;
    const filter = { contains, stream, step };
    const limits = { lines: limit, lookedAt: LOOKED_AT, lineBytes: 65_536 };
    const page = after === undefined
      ? await readBackwards(log, { before, filter, limits })
      : await new LogFollower(log, { filter, lineBytes: limits.lineBytes, after }).read(
        limits,
      );
    const { start, end, size, atEnd } = page;
    return {
      start,
      end,
      size,
      at_start: start === 0,
      at_end: atEnd,
      lines: page.lines.map(lineView),
    };
  };
  return { read, calls: () => calls };
}

/**
 * The numbers of the lines that are held; they follow each other, and are not too many. The last one
 * may go on after the part that is held.
 */
function held(window: LogWindow): { readonly first: number; readonly last: number } {
  const whole = window.lines.filter(({ open }, index, all) => {
    if (open === true) equal(index, all.length - 1);
    return open !== true;
  });
  const numbers = whole.map(({ text }) => Number(/^line ([0-9]+)$/.exec(text)?.[1]));
  const [first = NaN] = numbers;
  deepEqual(numbers, Array.from(numbers, (_, index) => first + index));
  ok(numbers.length <= LIMITS.lines + 7, `${numbers.length} lines`);
  equal(new Set(window.lines.map(lineName)).size, window.lines.length);
  return { first, last: numbers.at(-1) ?? NaN };
}

async function openLog() {
  await using opening = new AsyncDisposableStack();
  const dir = opening.use(await tempDir());
  const path = await dir.write("log.jsonl", someLog());
  const open = opening.move();
  const { read, calls } = reader(path);
  const dispose = () => open.disposeAsync();
  return { path, read, calls, window: new LogWindow(read, LIMITS), [Symbol.asyncDispose]: dispose };
}

Deno.test(
  skippable(
    "from the end of a log to its start and back: no line is missing, none is there twice",
    NOT_SLOW,
  ),
  async () => {
    await using log = await openLog();
    const { window } = log;
    await window.toEnd();
    equal(held(window).last, LINES - 1);
    ok(window.atEnd && !window.atStart && log.calls() === 1);
    let { first } = held(window);
    while (!window.atStart) {
      await window.extendUp();
      const now = held(window);
      ok(now.first < first && now.last >= first - 1, "the line that was first is still held");
      first = now.first;
    }
    equal(first, 0);
    ok(!window.atEnd, "the end was let go");
    let { last } = held(window);
    while (!window.atEnd) {
      await window.extendDown();
      const now = held(window);
      ok(now.last > last && now.first <= last + 1, "the line that was last is still held");
      last = now.last;
    }
    equal(last, LINES - 1);
    await window.toStart();
    equal(held(window).first, 0);
  },
);

Deno.test("the lines on both sides of a place", async () => {
  await using log = await openLog();
  const whole = await Deno.stat(log.path);
  for (const share of [0, 0.1, 0.5, 0.999, 1]) {
    const place = Math.floor(whole.size * share);
    await log.window.around(place);
    held(log.window);
    ok(log.window.start <= place && log.window.end >= Math.min(place, whole.size - 1));
  }
});

Deno.test("lines that arrive during the run are added, and a line that goes on is there once", async () => {
  await using log = await openLog();
  const { window, path } = log;
  await window.toEnd();
  const write = (text: string) => Deno.writeTextFile(path, text, { append: true });
  await write(piece(`line ${LINES}\nsure? `));
  await window.extendDown();
  equal(window.lines.at(-1)?.text, "sure? ");
  await write(piece("yes\n"));
  await window.extendDown();
  deepEqual(window.lines.slice(-2).map(({ text }) => text), [`line ${LINES}`, "sure? yes"]);
  ok(window.atEnd);
});

Deno.test("long lines count by what they hold", async () => {
  await using dir = await tempDir();
  const long = Array.from({ length: 60 }, (_, index) => piece(`${index} ${"x".repeat(50_000)}\n`));
  const { read } = reader(await dir.write("log.jsonl", long.join("")));
  const window = new LogWindow(read, LIMITS);
  await window.toEnd();
  while (!window.atStart) {
    await window.extendUp();
    const characters = window.lines.reduce((sum, { text }) => sum + text.length, 0);
    ok(characters <= LIMITS.characters, `${characters} characters`);
  }
  equal(window.lines[0]?.text.slice(0, 2), "0 ");
});

Deno.test("an answer that comes after the window has moved on is dropped", async () => {
  await using log = await openLog();
  const gate = Promise.withResolvers<void>();
  const slow: ReadLog = async (range) => {
    const page = await log.read(range);
    if (range.before !== undefined) await gate.promise;
    return page;
  };
  const window = new LogWindow(slow, LIMITS);
  await window.toEnd();
  const late = window.extendUp();
  await window.toStart();
  gate.resolve();
  await late;
  equal(held(window).first, 0);
});

Deno.test("a text is found after and before a line, beyond the held lines and around the ends", async () => {
  await using log = await openLog();
  const { window, read } = log;
  const progress: number[] = [];
  const signal = new AbortController().signal;
  const find = async (text: string, back = false) => {
    const current = lineName(window.lines[50] ?? { offset: 0, n: 0 });
    const found = await findText(window, read, {
      text,
      back,
      current,
      signal,
      progress: (at) => progress.push(at),
    });
    return found && `${found.line.text}${found.around ? " around" : ""}`;
  };
  await window.toStart();
  equal(await find("LINE 5"), "line 51", "among those that are held, in any case");
  equal(await find("line 34999"), "line 34999");
  ok(progress.length > 0 && progress.every((at) => at <= window.size), "it says how far it is");
  equal(await find("line 7"), "line 70");
  equal(await find("line 4", true), "line 49");
  equal(await find("line 23999", true), "line 23999 around");
  equal(await find("nowhere"), undefined);
  await window.toEnd();
  equal(await find("line 17", true), "line 17999");
  equal(await find("line 10", false), "line 10 around");
});

Deno.test("the first line of a step is found among others", async () => {
  await using log = await openLog();
  await Deno.writeTextFile(log.path, piece("it broke\n", "b") + piece("line\n"), { append: true });
  const signal = new AbortController().signal;
  const way = { from: 0, back: false, progress: () => {}, signal };
  equal((await findInFile(log.read, { step: "b" }, way))?.text, "it broke");
  equal(await findInFile(log.read, { step: "c" }, way), undefined);
  equal(await findInFile(log.read, { step: "b", stream: "err" }, way), undefined);
});
