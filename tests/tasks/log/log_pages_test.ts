/**
 * Pages of a log: put together, they are the log, line by line, whichever way and in whichever
 * portions it is read; and a page costs what it holds, not what the log has.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { utf8 } from "../../../src/base/bytes.ts";
import { LogFile } from "../../../src/store/files/log_file.ts";
import type { StoredLog } from "../../../src/store/log_store.ts";
import { encodeChunk, type LogChunk } from "../../../src/tasks/log/log_format.ts";
import { type LogLine, REACH_BYTES } from "../../../src/tasks/log/log_lines.ts";
import {
  type LogFilter,
  LogFollower,
  type LogPage,
  readBackwards,
} from "../../../src/tasks/log/log_pages.ts";
import { LogReader } from "../../../src/tasks/log/log_reader.ts";
import { tempDir } from "../../helpers/temp_dir.ts";
import { addTo, eachLog } from "../../rigs/each_log.ts";

const LIMITS = { lines: 1000, lookedAt: Infinity, lineBytes: 1 << 20 };

const chunk = (text: string | Uint8Array, more: Partial<LogChunk> = {}): LogChunk => ({
  at: 1_700_000_000_000,
  step: "a",
  stream: "out",
  bytes: typeof text === "string" ? utf8(text) : text,
  ...more,
});

const fileOf = (chunks: readonly LogChunk[]) => chunks.map(encodeChunk).join("");

/** Adds chunks to a log, many at a time. */
async function add(log: StoredLog, chunks: readonly LogChunk[]): Promise<void> {
  for (let from = 0; from < chunks.length; from += 997) {
    await addTo(log, utf8(fileOf(chunks.slice(from, from + 997))));
  }
}

const shown = ({ step, stream, bytes, ended }: LogLine) =>
  `${step} ${stream} ${new TextDecoder().decode(bytes)}${ended ? "" : " …"}`;

const named = (line: LogLine) => `${line.offset}/${line.n} ${shown(line)}`;

/** The lines of a log by the plain rule, from all of its chunks at once. */
function linesOf(chunks: readonly LogChunk[]): string[] {
  const lines: { start: number; n: number; of: LogChunk; text: string; ended: boolean }[] = [];
  const begun = new Map<string, { line: (typeof lines)[number]; last: number }>();
  let offset = 0;
  for (const one of chunks) {
    const key = `${one.step} ${one.stream}`;
    const pieces = new TextDecoder().decode(one.bytes).split("\n");
    for (const [index, text] of pieces.entries()) {
      const before = index === 0 ? begun.get(key) : undefined;
      const isLast = index === pieces.length - 1;
      if (isLast && text === "") {
        if (index > 0) begun.delete(key);
        continue;
      }
      if (before !== undefined && offset - before.last <= REACH_BYTES) {
        before.line.text += text;
        before.line.ended = !isLast;
        before.last = offset;
        continue;
      }
      const line = { start: offset, n: index, of: one, text, ended: !isLast };
      lines.push(line);
      if (isLast) begun.set(key, { line, last: offset });
    }
    offset += utf8(encodeChunk(one)).length;
  }
  return lines.toSorted((a, b) => a.start - b.start || a.n - b.n)
    .map(({ start, n, of, text, ended }) =>
      `${start}/${n} ${of.step} ${of.stream} ${text}${ended ? "" : " …"}`
    );
}

/** Numbers that look random and are the same in every run. */
function* numbers(seed: number): Generator<number, never> {
  for (let state = seed;;) {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    yield Math.floor(state / 65_536);
  }
}

/** A log in which lines of several streams are cut anywhere, some far from where they go on. */
function mixedLog(seed: number): LogChunk[] {
  const random = numbers(seed);
  const next = (below: number) => random.next().value % below;
  return Array.from({ length: 400 }, (_, index) => {
    const size = next(40) === 0 ? 90_000 : next(30);
    const text = Array.from({ length: size }, () => "ab \n"[next(size > 100 ? 3 : 4)]).join("");
    const step = next(60) === 0 ? "rare" : ["a", "b"][next(2)] ?? "a";
    const at = 1_700_000_000_000 + index;
    return chunk(`${index}${text}`, { step, stream: next(4) === 0 ? "err" : "out", at });
  });
}

async function backwards(log: StoredLog, lines: number, filter: LogFilter = {}) {
  const found: string[] = [];
  const pages: LogPage[] = [];
  for (let before = Infinity; before !== 0;) {
    const page = await readBackwards(log, { before, filter, limits: { ...LIMITS, lines } });
    found.unshift(...page.lines.map(named));
    if (before !== Infinity) equal(page.end, before);
    pages.unshift(page);
    before = page.start;
  }
  return { found, pages };
}

for (const seed of [1, 2, 3, 4]) {
  eachLog(
    `pages read backwards and forwards are the whole log, line by line (${seed})`,
    async (log) => {
      const chunks = mixedLog(seed);
      await add(log, chunks);
      const expected = linesOf(chunks);
      ok(expected.length > 500 && expected.some((line) => line.endsWith("…")));
      for (const lines of [1, 7, 100, 100_000].slice(seed - 1, seed)) {
        const { found, pages } = await backwards(log, lines);
        deepEqual(found, expected, `${lines} a page`);
        equal(pages.at(-1)?.atEnd, true);
        const fullest = Math.max(...pages.map((page) => page.lines.length));
        ok(fullest <= lines + 30, `a page of ${fullest} lines`);
      }
      for (const lines of [100, 100_000]) {
        const follower = new LogFollower(log, { filter: {}, lineBytes: 1 << 20, after: 0 });
        const found = new Map<string, string>();
        for (let atEnd = false; !atEnd;) {
          const page = await follower.read({ lines, lookedAt: Infinity });
          for (const line of page.lines) found.set(`${line.offset}/${line.n}`, named(line));
          atEnd = page.atEnd;
        }
        deepEqual([...found.values()].toSorted(), expected.toSorted());
      }
    },
  );
}

eachLog(
  "each page forwards is read by a reader of its own, and a line that goes on is given again",
  async (log) => {
    const chunks = mixedLog(5).filter((one) => one.bytes.length < 1000);
    await add(log, chunks);
    const found = new Map<string, string>();
    for (let after = 0, atEnd = false; !atEnd;) {
      const follower = new LogFollower(log, { filter: {}, lineBytes: 1 << 20, after });
      const page = await follower.read({ lines: 5, lookedAt: Infinity });
      for (const line of page.lines) found.set(`${line.offset}/${line.n}`, named(line));
      equal(page.start, after);
      ({ end: after, atEnd } = page);
    }
    deepEqual([...found.values()].toSorted(), linesOf(chunks).toSorted());
  },
);

eachLog(
  "a follower gives what was written since, and a prompt again when it was answered",
  async (log) => {
    const follower = new LogFollower(log, { filter: {}, lineBytes: 1 << 20, after: 0 });
    const read = async () =>
      (await follower.read({ lines: 100, lookedAt: Infinity })).lines.map(named);
    const write = (...chunks: readonly LogChunk[]) => addTo(log, utf8(fileOf(chunks)));
    deepEqual(await read(), []);
    const question = chunk("one\nsure? ");
    await write(question);
    deepEqual(await read(), ["0/0 a out one", "0/1 a out sure?  …"]);
    deepEqual(await read(), []);
    const other = chunk("other\n", { step: "b" });
    const size = fileOf([question]).length;
    await write(other);
    deepEqual(await read(), [`${size}/0 b out other`]);
    await write(chunk("yes\ntwo\n"));
    const after = size + fileOf([other]).length;
    deepEqual(await read(), ["0/1 a out sure? yes", `${after}/1 a out two`]);
  },
);

Deno.test("the last lines cost the same however long a file is", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/t.jsonl`;
  const log = new LogFile(path);
  const front = 16 * 1024 ** 3; // a hole: no reader gets through it in the time of a test
  await Deno.writeTextFile(path, "");
  await Deno.truncate(path, front);
  const lines = Array.from({ length: 5000 }, (_, index) => chunk(`line ${index}\n`));
  await Deno.writeTextFile(path, `\n${fileOf(lines)}`, { append: true });
  const page = await readBackwards(log, { filter: {}, limits: LIMITS });
  deepEqual(page.lines.map(shown), lines.slice(-1000).map((_, i) => `a out line ${4000 + i}`));
  ok(page.start > front);
  const older = await readBackwards(log, { before: page.start, filter: {}, limits: LIMITS });
  equal(older.lines.map(shown).at(-1), "a out line 3999");
});

eachLog("a search looks at so much and says how far it came", async (log) => {
  const chunks = Array.from({ length: 30_000 }, (_, i) => chunk(`line ${i} ${"x".repeat(50)}\n`));
  chunks[3] = chunk("here is the NeEDLe\n");
  await add(log, chunks);
  const limits = { ...LIMITS, lookedAt: 1 << 20 };
  const filter = { contains: "needle" };
  const pages: LogPage[] = [];
  for (let before = Infinity; before !== 0;) {
    const page = await readBackwards(log, { before, filter, limits });
    ok(page.end - page.start <= (1 << 20) + 300_000);
    pages.push(page);
    before = page.start;
  }
  ok(pages.length > 2);
  deepEqual(pages.flatMap((page) => page.lines.map(shown)), ["a out here is the NeEDLe"]);
  const forwards = await new LogFollower(log, { filter, lineBytes: 1 << 20, after: 0 })
    .read({ lines: 1, lookedAt: 1 << 20 });
  deepEqual(forwards.lines.map(shown), ["a out here is the NeEDLe"]);
  equal(forwards.atEnd, false);
});

eachLog("only the lines of a step, of a stream, since a time", async (log) => {
  const chunks = [
    chunk("1\n", { at: 1000 }),
    chunk("2\n", { step: "b", at: 2000 }),
    chunk("3\n", { stream: "err", at: 3000 }),
    chunk("{}\n", { stream: "raw", at: 3500 }),
    chunk("4\n", { stream: "svc", at: 4000 }),
  ];
  await add(log, chunks);
  const cases: [LogFilter, string[]][] = [
    [{ step: "b" }, ["b out 2"]],
    [{ stream: "err" }, ["a err 3"]],
    [{ step: "a", stream: "svc" }, ["a svc 4"]],
    [{ stream: "raw" }, ["a raw {}"]],
    [{ since: 3000 }, ["a err 3", "a svc 4"]],
    [{ since: 4001 }, []],
  ];
  for (const [filter, expected] of cases) {
    const { lines } = await readBackwards(log, { filter, limits: LIMITS });
    deepEqual(lines.map(shown), expected);
  }
  for (const [at, expected] of [[0, 4], [1000, 4], [1001, 3], [4000, 1], [9000, 0]] as const) {
    const follower = new LogFollower(log, { filter: {}, lineBytes: 1 << 20, at });
    equal((await follower.read(LIMITS)).lines.length, expected, `from ${at} on`);
  }
});

eachLog("the first chunk from a time on is found among many, long and short", async (log) => {
  const chunks = Array.from(
    { length: 500 },
    (_, i) => chunk(i % 90 === 0 ? "x".repeat(300_000) : `${i}\n`, { at: 1000 + 10 * i }),
  );
  await add(log, chunks);
  using reader = await LogReader.open(log);
  for (const index of [0, 1, 89, 90, 91, 180, 444, 499]) {
    const from = await reader?.findFrom(1000 + 10 * index - 5) ?? -1;
    equal((await reader?.read(from))?.chunks[0]?.at, 1000 + 10 * index);
  }
  equal(await reader?.findFrom(1e9), reader?.size);
});

eachLog(
  "a long line is cut and counted; characters that a chunk cuts in two are whole",
  async (log) => {
    const bytes = utf8("né");
    const chunks = [
      chunk(bytes.subarray(0, 2)),
      chunk(bytes.subarray(2)),
      chunk("t\n"),
      chunk("x".repeat(60_000)),
      chunk(`${"y".repeat(60_000)}\nnext\n`),
      chunk(new Uint8Array([0xff, 0x0a])),
    ];
    await add(log, chunks);
    const limits = { ...LIMITS, lineBytes: 64 * 1024 };
    const { lines } = await readBackwards(log, { filter: {}, limits });
    deepEqual(lines.map(({ bytes, cut }) => [bytes.length, cut]), [
      [4, 0],
      [65_536, 120_000 - 65_536],
      [4, 0],
      [1, 0],
    ]);
    equal(shown(lines[0] as LogLine), "a out nét");
  },
);

const THREE = [chunk("one\n"), chunk("two\n"), chunk("three\n")];

/** Any offset finds a line: one within a line counts as the end of those before it. */
async function checkOffsets(log: StoredLog): Promise<void> {
  const ends = THREE.map((_, index) => fileOf(THREE.slice(0, index + 1)).length);
  const starts = [0, ...ends.slice(0, -1)];
  const whole = ends.at(-1) ?? NaN;
  for (let offset = 0; offset <= whole + 15; offset++) {
    const before = await readBackwards(log, { before: offset, filter: {}, limits: LIMITS });
    const follower = new LogFollower(log, { filter: {}, lineBytes: 1 << 20, after: offset });
    const after = await follower.read(LIMITS);
    equal(before.lines.length, ends.filter((end) => end <= offset).length);
    equal(after.lines.length, starts.filter((start) => start >= offset).length);
    equal(after.atEnd, true);
    equal(after.end, whole);
  }
}

eachLog("any offset finds a line", async (log) => {
  await add(log, THREE);
  await checkOffsets(log);
});

Deno.test("any offset finds a line of a file whose last one is not whole", async () => {
  await using dir = await tempDir();
  await checkOffsets(new LogFile(await dir.write("t.jsonl", `${fileOf(THREE)}{"at":17`)));
});

eachLog("a log that is not there yet is empty", async (log) => {
  const page = await readBackwards(log, { filter: {}, limits: LIMITS });
  deepEqual(page, { lines: [], start: 0, end: 0, size: 0, atEnd: true });
});
