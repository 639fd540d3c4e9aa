/**
 * The log of a task that one daemon runs, followed at another: the lines come soon after they were
 * printed, and the end after the last of them.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { utf8 } from "../../../src/base/bytes.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { EventHub } from "../../../src/base/event_hub.ts";
import { taskLogs } from "../../../src/control/tasks/task_logs.ts";
import { withAnnouncements } from "../../../src/store/store_methods.ts";
import type { DaemonEvents } from "../../../src/store/events.ts";
import { Hints } from "../../../src/store/postgres/hints/hints.ts";
import { TaskLog } from "../../../src/tasks/log/task_log.ts";
import { accept, taskIdOf } from "../../helpers/store_records.ts";
import { within } from "../../helpers/within.ts";
import { known } from "../../helpers/known_secrets.ts";
import { twoDaemonsTest } from "../../rigs/two_daemons.ts";

const TASK = taskIdOf(1);
const clock = systemClock;
const log = { debug() {}, info() {}, warn() {}, error() {} };
/** Well below the time after which a follower looks for itself. */
const SOON_MS = 10_000;

twoDaemonsTest("a log is followed at another daemon until its task has ended", async (all) => {
  const { a, b, url } = all;
  const [here, there] = [new EventHub<DaemonEvents>(log), new EventHub<DaemonEvents>(log)];
  await using _here = new Hints({ url, events: here, clock, log });
  await using _there = new Hints({ url, events: there, clock, log });
  const store = withAnnouncements(a, here);
  await accept(store, 1);
  equal((await store.claimTasks(1, clock.now())).tasks.length, 1);

  const { signal } = new AbortController();
  const input = { id: TASK, follow: true };
  const entries = taskLogs(input, { store: b, events: there, logs: b.logs, clock }, signal);
  const next = async () => (await within(SOON_MS, entries.next())).value;
  const nextText = async () => {
    const entry = await next();
    return entry !== undefined && "data" in entry ? atob(entry.data) : entry;
  };
  {
    const onWritten = () => here.publish("logWritten", { taskId: TASK });
    await using output = new TaskLog(a.logs.of(TASK), {
      clock,
      secrets: known(),
      stop: signal,
      onWritten,
    });
    const step = output.step("build");
    for (const line of ["one\n", "two\n", "three\n"]) {
      await step.write("out", utf8(line));
      equal(await nextText(), line);
    }
    await step.write("err", utf8("last"));
    await step.end();
  }
  const end = { taskId: TASK, state: "succeeded", reason: "", now: clock.now() } as const;
  await store.finishTask({ ...end, followed: false, steps: [] });
  equal(await nextText(), "last");
  deepEqual(await next(), { state: "succeeded", reason: "" });
});
