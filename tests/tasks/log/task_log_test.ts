/**
 * Step output in the log of its task: the exact bytes come back in order, secrets hidden, and no
 * more than the limit is kept.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { concatBytes, utf8 } from "../../../src/base/bytes.ts";
import type { StoredLog } from "../../../src/store/log_store.ts";
import type { LogChunk } from "../../../src/tasks/log/log_format.ts";
import { readLog } from "../../helpers/read_log.ts";
import { TaskLog } from "../../../src/tasks/log/task_log.ts";
import { known } from "../../helpers/known_secrets.ts";
import { ManualClock } from "../../helpers/manual_clock.ts";
import { until } from "../../helpers/until.ts";
import { eachLog, WRITING } from "../../rigs/each_log.ts";

const CLOCK = new ManualClock(1_700_000_000_000);
const HOST = { ...WRITING, clock: CLOCK, secrets: known() };

/** Everything a log holds, read on and on as a reader that follows it does. */
async function readAll(stored: StoredLog): Promise<LogChunk[]> {
  const all: LogChunk[] = [];
  for (let offset = 0;;) {
    const { chunks, next } = await readLog(stored, offset);
    all.push(...chunks);
    if (next === offset) return all;
    offset = next;
  }
}

const bytesOf = (chunks: readonly LogChunk[]) => concatBytes(...chunks.map((one) => one.bytes));
const textOf = (chunks: readonly LogChunk[]) => new TextDecoder().decode(bytesOf(chunks));

/** Writes what `work` gives to a log, which can be read afterwards. */
async function write(
  stored: StoredLog,
  work: (log: TaskLog) => Promise<void>,
  host = HOST,
): Promise<LogChunk[]> {
  {
    await using log = new TaskLog(stored, host);
    await work(log);
  }
  return await readAll(stored);
}

const CHUNKS: readonly [what: string, bytes: Uint8Array][] = [
  ["text", utf8("hello\n")],
  ["a text without a line break", utf8("prompt> ")],
  ["every byte there is", Uint8Array.from({ length: 256 }, (_, i) => i)],
  ["bytes that are no UTF-8", new Uint8Array([0xff, 0xfe, 0x61, 0xc0, 0x80])],
  ["half a pair of surrogates", new Uint8Array([0x61, 0xed, 0xa0, 0xbd, 0x62])],
  ["half a character", utf8("é").subarray(0, 1)],
  ["a byte order mark", utf8("\uFEFFx")],
  ["NUL, CR and escapes", utf8("\0\r\n\x1b[31m")],
  ["JSON and line separators", utf8('{"a":"\\n"}\u2028\u2029\n\n')],
  ["a line of 8 MB", utf8(`${"x".repeat(8_000_000)}\n`)],
];

for (const [what, bytes] of CHUNKS) {
  eachLog(`TaskLog and readLog keep ${what} exactly`, async (stored) => {
    const chunks = await write(stored, async (log) => {
      const step = log.step("build");
      await step.write("err", bytes);
      await step.end();
    });
    deepEqual(new Uint8Array(bytesOf(chunks)), new Uint8Array(bytes));
    for (const { at, step, stream } of chunks) {
      deepEqual([at, step, stream], [CLOCK.now(), "build", "err"]);
    }
  });
}

eachLog("readLog gives chunks of all steps and streams in the order they came", async (stored) => {
  const chunks = await write(stored, async (log) => {
    const [one, two] = [log.step("one"), log.step("two")];
    await one.write("out", utf8("1\n"));
    await one.write("err", utf8("2\n"));
    await one.end();
    await two.write("out", utf8("3\n"));
    await two.end();
  });
  deepEqual(
    chunks.map((one) => [one.step, one.stream, textOf([one])]),
    [["one", "out", "1\n"], ["one", "err", "2\n"], ["two", "out", "3\n"]],
  );
});

eachLog("TaskLog adds to what is there", async (stored) => {
  for (const text of ["first\n", "second\n"]) {
    await write(stored, (log) => log.step("s").write("out", utf8(text)));
  }
  equal(textOf(await readAll(stored)), "first\nsecond\n");
});

eachLog("TaskLog hides secrets across chunks and in what was kept back", async (stored) => {
  const host = { ...HOST, secrets: known("s3cr3t-value") };
  const chunks = await write(stored, async (log) => {
    const step = log.step("s");
    for (const text of ["token s3cr", "3t-val", "ue end\n", "s3cr3t"]) {
      await step.write("out", utf8(text));
      equal(textOf(await readAll(stored)).includes("s3cr"), false);
    }
    await step.end();
  }, host);
  equal(textOf(chunks), "token *** end\ns3cr3t");
});

eachLog("TaskLog shows the last letters of an unfinished line in a moment", async (stored) => {
  const clock = new ManualClock(CLOCK.now());
  const host = { ...HOST, clock, secrets: known("yes-s3cr3t") };
  await using log = new TaskLog(stored, host);
  const step = log.step("s");
  // Written lines can be read soon: PostgreSQL stores them a little at a time.
  const shows = async (text: string) =>
    await until(`"${text}"`, async () => textOf(await readAll(stored)) === text || undefined);
  await step.write("out", utf8("Continue? y"));
  await shows("Continue? ");
  await clock.advance(400);
  await step.write("err", utf8("unhurt\n")); // the other stream goes on
  await shows("Continue? unhurt\n");
  await clock.advance(100);
  await shows("Continue? unhurt\ny");
  await step.write("out", utf8("es-s3cr3t\n"));
  await step.write("out", utf8("yes-s3"));
  await clock.advance(10_000);
  await step.end();
  await shows("Continue? unhurt\ny***\nyes-s3");
});

eachLog("TaskLog makes no log as long as there is nothing to write", async (stored) => {
  await write(stored, (log) => log.step("s").end());
  equal(await stored.open(), undefined);
});

eachLog("TaskLog takes little more room than the output has, whatever that is", async (stored) => {
  const chunks = await write(stored, async (log) => {
    const step = log.step("s");
    await step.write("out", new Uint8Array(1_000_000));
    await step.write("out", utf8("\x1b".repeat(1_000_000)));
  });
  using open = await stored.open();
  ok(open !== undefined && open.size < 2_800_000, `${open?.size}`);
  equal(bytesOf(chunks).length, 2_000_000);
});

eachLog("TaskLog keeps notes of svc apart from what the step printed", async (stored) => {
  const chunks = await write(stored, async (log) => {
    const step = log.step("s");
    await step.note("first");
    await step.write("err", utf8("half a line"));
    await step.note("second");
    await step.write("err", utf8("whole\n"));
    await step.note("third");
  });
  equal(textOf(chunks), "[svc: first]\nhalf a line[svc: second]\nwhole\n[svc: third]\n");
  deepEqual(chunks.map(({ stream }) => stream), ["svc", "err", "svc", "err", "svc"]);
});

eachLog("TaskLog keeps the streams of a step apart when it hides secrets", async (stored) => {
  const host = { ...HOST, secrets: known("s3cr3t-value") };
  const chunks = await write(stored, async (log) => {
    const step = log.step("s");
    await step.write("out", utf8("s3cr3t-"));
    await step.write("err", utf8("s3cr3t-value\n"));
    await step.write("out", utf8("value\n"));
    await step.end();
  }, host);
  equal(textOf(chunks.filter((one) => one.stream === "out")), "***\n");
  equal(textOf(chunks.filter((one) => one.stream === "err")), "***\n");
});

/** A step that prints more than is kept of it, and a little on the other stream. */
async function printTooMuch(log: TaskLog, limit: number): Promise<void> {
  const step = log.step("s");
  const chunk = new Uint8Array(1024 * 1024).fill(0x78);
  for (let sent = 0; sent <= limit + chunk.length; sent += chunk.length) {
    await step.write("out", chunk);
  }
  await step.write("err", utf8("late\n"));
  await step.end();
  await step.note("how it ended");
}

eachLog("TaskLog keeps so much of a step, then says once that there was more", async (stored) => {
  const limit = stored.maxStepBytes;
  const chunks = await write(stored, (log) => printTooMuch(log, limit));
  const kept = chunks.filter((one) => one.stream === "out");
  equal(kept.reduce((sum, one) => sum + one.bytes.length, 0), limit);
  const notes = chunks.filter((one) => one.stream !== "out");
  match(textOf(notes), /^\[svc: further output .* not kept.*\]\n\[svc: how it ended\]\n$/);
});

eachLog("TaskLog keeps to the limit when both streams write at once", async (stored) => {
  const limit = stored.maxStepBytes;
  const chunks = await write(stored, async (log) => {
    const step = log.step("s");
    const chunk = new Uint8Array(limit / 22).fill(0x78);
    for (let i = 0; i < 12; i++) {
      await Promise.all([step.write("out", chunk), step.write("err", chunk)]);
    }
    await step.end();
  });
  const isNote = (one: LogChunk) => one.stream === "svc";
  equal(chunks.filter(isNote).length, 1);
  const kept = chunks.filter((one) => !isNote(one)).reduce((sum, one) => sum + one.bytes.length, 0);
  equal(kept, limit);
});

eachLog(
  "TaskLog keeps raw output up to half of the limit, and other output after it",
  async (stored) => {
    const limit = stored.maxStepBytes;
    const chunks = await write(stored, async (log) => {
      const step = log.step("s");
      const chunk = new Uint8Array(limit / 16).fill(0x78);
      for (let i = 0; i < 12; i++) await step.write("raw", chunk);
      for (let i = 0; i < 12; i++) await step.write("out", chunk);
      await step.end();
    });
    const lengthOf = (stream: string) =>
      chunks.filter((one) => one.stream === stream).reduce((sum, one) => sum + one.bytes.length, 0);
    deepEqual([lengthOf("raw"), lengthOf("out")], [limit / 2, limit / 2]);
    const notes = textOf(chunks.filter((one) => one.stream === "svc"));
    match(
      notes,
      /^\[svc: further raw output .* not kept, .*\]\n\[svc: further output .* not kept.*\]\n$/,
    );
  },
);

eachLog("TaskLog hides a secret that is cut in raw output", async (stored) => {
  const host = { ...HOST, secrets: known("s3cr3t-value") };
  const chunks = await write(stored, async (log) => {
    const step = log.step("s");
    await step.write("raw", utf8('{"a":"s3cr3'));
    await step.write("out", utf8("s3cr3"));
    await step.write("raw", utf8('t-value"}\n'));
    await step.write("out", utf8("t-value\n"));
    await step.end();
  }, host);
  equal(textOf(chunks.filter((one) => one.stream === "raw")), '{"a":"***"}\n');
  equal(textOf(chunks.filter((one) => one.stream === "out")), "***\n");
});

eachLog("TaskLog counts the limit for each step alone", async (stored) => {
  await write(stored, (log) => printTooMuch(log, stored.maxStepBytes));
  const chunks = await write(
    stored,
    (log) => log.step("next").write("out", utf8("still here\n")),
  );
  equal(textOf(chunks.filter((one) => one.step === "next")), "still here\n");
});

eachLog("readLog of a log that is not there gives nothing", async (stored) => {
  deepEqual(await readLog(stored, 0), { chunks: [], next: 0 });
  deepEqual(await readLog(stored, 7), { chunks: [], next: 7 });
});

eachLog("readLog goes on where it ended and finds nothing new", async (stored) => {
  await write(stored, (log) => log.step("s").write("out", utf8("one\n")));
  const first = await readLog(stored, 0);
  deepEqual(await readLog(stored, first.next), { chunks: [], next: first.next });
  await write(stored, (log) => log.step("s").write("out", utf8("two\n")));
  const second = await readLog(stored, first.next);
  equal(textOf(second.chunks), "two\n");
  ok(second.next > first.next);
});

eachLog("readLog gives many lines in pieces and none twice", async (stored) => {
  const lines = Array.from({ length: 2000 }, (_, i) => `${i} ${"x".repeat(i % 300)}\n`);
  const chunks = await write(stored, async (log) => {
    const step = log.step("s");
    for (const line of lines) await step.write("out", utf8(line));
  });
  equal(textOf(chunks), lines.join(""));
});

eachLog("a writer says when there is more to read, and at its end there is all", async (stored) => {
  let told = 0;
  const sizes: number[] = [];
  for (let n = 1; n <= 3; n++) {
    await write(stored, (log) => log.step("s").write("out", utf8(`${n}\n`)), {
      ...HOST,
      onWritten: () => told++,
    });
    using open = await stored.open();
    sizes.push(open?.size ?? 0);
  }
  equal(told, 3);
  deepEqual(sizes, [1, 2, 3].map((times) => times * (sizes[0] ?? NaN)));
});
