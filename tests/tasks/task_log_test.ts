/**
 * Step output on disk: the exact bytes come back in order, secrets hidden, half a line left for
 * later, and no more than the limit is kept.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { concatBytes, utf8 } from "../../src/base/bytes.ts";
import { readLog } from "../../src/tasks/log/log_file.ts";
import { type LogChunk, logPath } from "../../src/tasks/log/log_format.ts";
import { TaskLog } from "../../src/tasks/log/task_log.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { known } from "../secrets/known.ts";

const CLOCK = { now: () => 1_700_000_000_000 };
const HOST = { clock: CLOCK, secrets: known() };
const LIMIT = 64 * 1024 * 1024;

/** Everything a log holds, read on and on as a reader that follows it does. */
async function readAll(path: string): Promise<LogChunk[]> {
  const all: LogChunk[] = [];
  for (let offset = 0;;) {
    const { chunks, next } = await readLog(path, offset);
    all.push(...chunks);
    if (next === offset) return all;
    offset = next;
  }
}

const bytesOf = (chunks: readonly LogChunk[]) => concatBytes(...chunks.map((one) => one.bytes));
const textOf = (chunks: readonly LogChunk[]) => new TextDecoder().decode(bytesOf(chunks));

Deno.test("logPath names one file a task", () => {
  equal(logPath("/d/logs", "01ABC"), "/d/logs/01ABC.jsonl");
});

const CHUNKS: readonly [what: string, bytes: Uint8Array][] = [
  ["text", utf8("hello\n")],
  ["a text without a line break", utf8("prompt> ")],
  ["every byte there is", Uint8Array.from({ length: 256 }, (_, i) => i)],
  ["bytes that are no UTF-8", new Uint8Array([0xff, 0xfe, 0x61, 0xc0, 0x80])],
  ["half a character", utf8("é").subarray(0, 1)],
  ["a byte order mark", utf8("\uFEFFx")],
  ["NUL, CR and escapes", utf8("\0\r\n\x1b[31m")],
  ["JSON and line separators", utf8('{"a":"\\n"}\u2028\u2029\n\n')],
  ["a megabyte in one line", utf8("x".repeat(1_000_000))],
];

for (const [what, bytes] of CHUNKS) {
  Deno.test(`TaskLog and readLog keep ${what} exactly`, async () => {
    await using dir = await tempDir();
    const path = logPath(dir.path, "t");
    {
      using log = new TaskLog(path, HOST);
      const step = log.step("build");
      await step.write("err", bytes);
      await step.end();
    }
    const chunks = await readAll(path);
    deepEqual(new Uint8Array(bytesOf(chunks)), new Uint8Array(bytes));
    for (const { at, step, stream } of chunks) {
      deepEqual([at, step, stream], [CLOCK.now(), "build", "err"]);
    }
  });
}

Deno.test("readLog gives chunks of all steps and streams in the order they came", async () => {
  await using dir = await tempDir();
  const path = logPath(dir.path, "t");
  using log = new TaskLog(path, HOST);
  const [one, two] = [log.step("one"), log.step("two")];
  await one.write("out", utf8("1\n"));
  await one.write("err", utf8("2\n"));
  await one.end();
  await two.write("out", utf8("3\n"));
  await two.end();
  deepEqual(
    (await readAll(path)).map((
      { step, stream, bytes },
    ) => [step, stream, textOf([{ bytes } as LogChunk])]),
    [["one", "out", "1\n"], ["one", "err", "2\n"], ["two", "out", "3\n"]],
  );
});

Deno.test("TaskLog makes a file that only its owner can read, and adds to one that is there", async () => {
  await using dir = await tempDir();
  const path = logPath(dir.path, "t");
  for (const text of ["first\n", "second\n"]) {
    using log = new TaskLog(path, HOST);
    await log.step("s").write("out", utf8(text));
  }
  equal(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);
  equal(textOf(await readAll(path)), "first\nsecond\n");
});

Deno.test("TaskLog hides secrets across chunks and in what was kept back", async () => {
  await using dir = await tempDir();
  const path = logPath(dir.path, "t");
  using log = new TaskLog(path, { clock: CLOCK, secrets: known("s3cr3t-value") });
  const step = log.step("s");
  for (const text of ["token s3cr", "3t-val", "ue end\n", "s3cr3t"]) {
    await step.write("out", utf8(text));
    equal((await Deno.readTextFile(path)).includes("s3cr"), false);
  }
  await step.end();
  equal(textOf(await readAll(path)), "token *** end\ns3cr3t");
});

Deno.test("TaskLog makes no file as long as there is nothing to write", async () => {
  await using dir = await tempDir();
  const path = logPath(dir.path, "t");
  using log = new TaskLog(path, HOST);
  const step = log.step("s");
  await step.end();
  deepEqual([...Deno.readDirSync(dir.path)], []);
});

Deno.test("TaskLog takes little more room than the output has, whatever that is", async () => {
  await using dir = await tempDir();
  const path = logPath(dir.path, "t");
  using log = new TaskLog(path, HOST);
  const step = log.step("s");
  await step.write("out", new Uint8Array(1_000_000));
  await step.write("out", utf8("\x1b".repeat(1_000_000)));
  const { size } = await Deno.stat(path);
  ok(size < 2_800_000, `${size}`);
  equal(bytesOf(await readAll(path)).length, 2_000_000);
});

Deno.test("TaskLog keeps notes of svc apart from what the step printed", async () => {
  await using dir = await tempDir();
  const path = logPath(dir.path, "t");
  using log = new TaskLog(path, HOST);
  const step = log.step("s");
  await step.note("first");
  await step.write("err", utf8("half a line"));
  await step.note("second");
  await step.write("err", utf8("whole\n"));
  await step.note("third");
  const chunks = await readAll(path);
  equal(textOf(chunks), "[svc: first]\nhalf a line[svc: second]\nwhole\n[svc: third]\n");
  deepEqual(chunks.map(({ stream }) => stream), ["svc", "err", "svc", "err", "svc"]);
});

Deno.test("TaskLog keeps the streams of a step apart when it hides secrets", async () => {
  await using dir = await tempDir();
  const path = logPath(dir.path, "t");
  using log = new TaskLog(path, { clock: CLOCK, secrets: known("s3cr3t-value") });
  const step = log.step("s");
  await step.write("out", utf8("s3cr3t-"));
  await step.write("err", utf8("s3cr3t-value\n"));
  await step.write("out", utf8("value\n"));
  await step.end();
  const chunks = await readAll(path);
  equal(textOf(chunks.filter((one) => one.stream === "out")), "***\n");
  equal(textOf(chunks.filter((one) => one.stream === "err")), "***\n");
});

/**
 * A log of a step that prints `mebibytes` times a mebibyte, and a little more on the other stream.
 */
async function longLog(path: string, mebibytes: number): Promise<LogChunk[]> {
  using log = new TaskLog(path, HOST);
  const step = log.step("s");
  const chunk = new Uint8Array(1024 * 1024).fill(0x78);
  for (let i = 0; i < mebibytes; i++) await step.write("out", chunk);
  await step.write("err", utf8("late\n"));
  await step.end();
  await step.note("how it ended");
  return await readAll(path);
}

Deno.test("TaskLog keeps 64 MiB of a step, then says once that there was more", async () => {
  await using dir = await tempDir();
  const chunks = await longLog(logPath(dir.path, "t"), 66);
  const kept = chunks.filter((one) => one.stream === "out");
  equal(kept.reduce((sum, one) => sum + one.bytes.length, 0), LIMIT);
  const notes = chunks.filter((one) => one.stream !== "out");
  match(textOf(notes), /^\[svc: further output .* not kept.*\]\n\[svc: how it ended\]\n$/);
});

Deno.test("TaskLog keeps to the limit when both streams write at once", async () => {
  await using dir = await tempDir();
  const path = logPath(dir.path, "t");
  using log = new TaskLog(path, HOST);
  const step = log.step("s");
  const chunk = new Uint8Array(3 * 1024 * 1024).fill(0x78);
  for (let i = 0; i < 12; i++) {
    await Promise.all([step.write("out", chunk), step.write("err", chunk)]);
  }
  await step.end();
  const chunks = await readAll(path);
  const isNote = (one: LogChunk) => one.stream === "svc";
  equal(chunks.filter(isNote).length, 1);
  const kept = chunks.filter((one) => !isNote(one)).reduce((sum, one) => sum + one.bytes.length, 0);
  equal(kept, LIMIT);
});

Deno.test("TaskLog counts the limit for each step alone", async () => {
  await using dir = await tempDir();
  const path = logPath(dir.path, "t");
  await longLog(path, 65);
  using log = new TaskLog(path, HOST);
  await log.step("next").write("out", utf8("still here\n"));
  equal(textOf((await readAll(path)).filter((one) => one.step === "next")), "still here\n");
});

Deno.test("readLog of a file that is not there gives nothing", async () => {
  await using dir = await tempDir();
  deepEqual(await readLog(logPath(dir.path, "none"), 0), { chunks: [], next: 0 });
  deepEqual(await readLog(logPath(dir.path, "none"), 7), { chunks: [], next: 7 });
});

Deno.test("readLog leaves half a line until it is whole", async () => {
  await using dir = await tempDir();
  const line = (text: string) => JSON.stringify({ at: 1, step: "s", stream: "out", text }) + "\n";
  const [first, second] = [line("one\n"), line("two é\n")];
  const bytes = utf8(first + second);
  for (let cut = utf8(first).length; cut < bytes.length; cut++) {
    const path = await dir.write("t.jsonl", bytes.subarray(0, cut));
    const before = await readLog(path, 0);
    equal(textOf(before.chunks), "one\n");
    equal(before.next, utf8(first).length);
    await dir.write("t.jsonl", bytes);
    const after = await readLog(path, before.next);
    deepEqual([textOf(after.chunks), after.next], ["two é\n", bytes.length]);
  }
});

Deno.test("readLog goes on where it ended and finds nothing new", async () => {
  await using dir = await tempDir();
  const path = logPath(dir.path, "t");
  using log = new TaskLog(path, HOST);
  const step = log.step("s");
  await step.write("out", utf8("one\n"));
  const first = await readLog(path, 0);
  deepEqual(await readLog(path, first.next), { chunks: [], next: first.next });
  await step.write("out", utf8("two\n"));
  const second = await readLog(path, first.next);
  equal(textOf(second.chunks), "two\n");
  ok(second.next > first.next);
});

Deno.test("readLog gives many lines in pieces and none twice", async () => {
  await using dir = await tempDir();
  const path = logPath(dir.path, "t");
  using log = new TaskLog(path, HOST);
  const step = log.step("s");
  const lines = Array.from({ length: 2000 }, (_, i) => `${i} ${"x".repeat(i % 300)}\n`);
  for (const line of lines) await step.write("out", utf8(line));
  equal(textOf(await readAll(path)), lines.join(""));
});

Deno.test("readLog reads on behind a line that a crash or a full disk cut off", async () => {
  await using dir = await tempDir();
  const path = logPath(dir.path, "t");
  {
    using log = new TaskLog(path, HOST);
    const step = log.step("s");
    await step.write("out", utf8("before\n"));
    await step.write("out", utf8("cut off\n"));
  }
  const { size } = await Deno.stat(path);
  await Deno.truncate(path, size - 10);
  {
    using log = new TaskLog(path, HOST);
    await log.step("s").write("out", utf8("after the restart\n"));
  }
  const text = textOf(await readAll(path));
  match(text, /^before\n/);
  match(text, /after the restart\n$/);
});
