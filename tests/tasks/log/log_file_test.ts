/**
 * Logs as files: what they are called, who can read them, and half a line that is left for later or
 * that a crash cut off.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { concatBytes, utf8 } from "../../../src/base/bytes.ts";
import { LogFile } from "../../../src/store/files/log_file.ts";
import { LogFiles, logPath } from "../../../src/store/files/log_files.ts";
import type { LogChunk } from "../../../src/tasks/log/log_format.ts";
import { lastWrittenAt } from "../../../src/tasks/log/log_reader.ts";
import { readLog } from "../../helpers/read_log.ts";
import { TaskLog } from "../../../src/tasks/log/task_log.ts";
import { ManualClock } from "../../helpers/manual_clock.ts";
import { taskIdOf } from "../../helpers/store_records.ts";
import { tempDir } from "../../helpers/temp_dir.ts";
import { known } from "../../helpers/known_secrets.ts";
import { addTo, WRITING } from "../../rigs/each_log.ts";

const HOST = { ...WRITING, clock: new ManualClock(1_700_000_000_000), secrets: known() };

const textOf = (chunks: readonly LogChunk[]) =>
  new TextDecoder().decode(concatBytes(...chunks.map((one) => one.bytes)));

Deno.test("logPath names one file a task", () => {
  equal(logPath("/d/logs", "01ABC"), "/d/logs/01ABC.jsonl");
});

Deno.test("LogFiles names the tasks that have a log, and removes a log", async () => {
  await using dir = await tempDir();
  const logs = new LogFiles(dir.path);
  const [one, two] = [taskIdOf(1), taskIdOf(2)];
  for (const id of [one, two]) await addTo(logs.of(id), utf8("x\n"));
  await dir.write("mine.jsonl", "");
  await logs.left.remove(one);
  await logs.left.remove(one);
  deepEqual(await Array.fromAsync(logs.left.owners()), [two]);
  equal(await logs.of(one).open(), undefined);
  deepEqual(await Array.fromAsync(new LogFiles(`${dir.path}/none`).left.owners()), []);
});

Deno.test("LogFiles keeps the output of a step up to the given limit", async () => {
  await using dir = await tempDir();
  const stored = new LogFiles(dir.path, 10).of(taskIdOf(1));
  {
    await using log = new TaskLog(stored, HOST);
    await log.step("s").write("out", utf8("0123456789abc"));
  }
  const text = textOf((await readLog(stored, 0)).chunks);
  equal(text, "0123456789[svc: further output of this step is not kept, limit 10 bytes]\n");
});

Deno.test("LogFile makes a file that only its owner can read, with the first output", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/t.jsonl`;
  await using writer = new LogFile(path).write(WRITING);
  deepEqual([...Deno.readDirSync(dir.path)], []);
  await writer.append(utf8("x\n"));
  equal(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);
});

Deno.test("readLog leaves half a line until it is whole", async () => {
  await using dir = await tempDir();
  const line = (text: string) => JSON.stringify({ at: 1, step: "s", stream: "out", text }) + "\n";
  const [first, second] = [line("one\n"), line("two é\n")];
  const bytes = utf8(first + second);
  for (let cut = utf8(first).length; cut < bytes.length; cut++) {
    const log = new LogFile(await dir.write("t.jsonl", bytes.subarray(0, cut)));
    const before = await readLog(log, 0);
    equal(textOf(before.chunks), "one\n");
    equal(before.next, utf8(first).length);
    await dir.write("t.jsonl", bytes);
    const after = await readLog(log, before.next);
    deepEqual([textOf(after.chunks), after.next], ["two é\n", bytes.length]);
  }
});

Deno.test("lastWrittenAt is the time of the last whole line", async () => {
  await using dir = await tempDir();
  const line = (at: number, text: string) =>
    JSON.stringify({ at, step: "s", stream: "out", text }) + "\n";
  const last = line(1_700_000_000_002, "x".repeat(9000));
  const cases = [["", undefined], [line(1_700_000_000_001, "one\n"), 1_700_000_000_001], [
    line(1_700_000_000_001, "one\n") + last,
    1_700_000_000_002,
  ], [line(1_700_000_000_001, "one\n") + last.slice(0, -1), 1_700_000_000_001]] as const;
  for (const [text, at] of cases) {
    equal(await lastWrittenAt(new LogFile(await dir.write("t.jsonl", utf8(text)))), at);
  }
  equal(await lastWrittenAt(new LogFile(`${dir.path}/none.jsonl`)), undefined);
});

Deno.test("readLog reads on behind a line that a crash or a full disk cut off", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/t.jsonl`;
  const stored = new LogFile(path);
  {
    await using log = new TaskLog(stored, HOST);
    const step = log.step("s");
    await step.write("out", utf8("before\n"));
    await step.write("out", utf8("cut off\n"));
  }
  const { size } = await Deno.stat(path);
  await Deno.truncate(path, size - 10);
  {
    await using log = new TaskLog(stored, HOST);
    await log.step("s").write("out", utf8("after the restart\n"));
  }
  const text = textOf((await readLog(stored, 0)).chunks);
  match(text, /^before\n/);
  match(text, /after the restart\n$/);
});
