/**
 * Waits for events that svc tells to the very task that waits: they are messages in its inbox, and end its
 * waits as any event does. The events that have started a task end none of its waits.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import type { JsonObject } from "../../src/base/json.ts";
import { fire } from "../../src/intake/pipeline/fire.ts";
import { missedWaits } from "../../src/intake/waits/missed_waits.ts";
import { EventWaits } from "../../src/intake/waits/event_waits.ts";
import { digestOf, shapeOf } from "../../src/store/rules/wait_keys.ts";
import type { Wait, WaitPart } from "../../src/store/wait_records.ts";
import { times } from "../helpers/program.ts";
import { BASE, type SourceRig, sourceRig, triggerOf } from "../rigs/source_rig.ts";

const HOOK = "source: webhook, webhook: {allowUnsigned: true, endpoint: prs}";
const TALK = (more = "") => `conversation: {key: payload.pr, text: "{{ payload.text }}"${more}}`;
const TRIGGERS = BASE + triggerOf("comments", HOOK, TALK()) +
  triggerOf("ci", HOOK, TALK(", starts: false")) +
  triggerOf(
    "alone",
    "source: webhook, webhook: {allowUnsigned: true}",
    "concurrency: {policy: Forbid}",
  ) +
  triggerOf(
    "joined",
    "source: webhook, webhook: {allowUnsigned: true, debounce: {key: payload.pr, secs: 1}}",
  );

const EXPRESSIONS = ["payload.pr"];

const say = (rig: SourceRig, trigger: string, payload: JsonObject) =>
  fire({
    resourceVersion: 0,
    trigger: rig.host.triggers.named({ project: "default", trigger }),
    source: "manual",
    id: rig.host.newId(),
    payload,
  }, rig.host);

/** Opens a wait of a task for an event of this trigger. */
const open = (
  rig: SourceRig,
  taskId: string,
  { position = 0, trigger, key = "1", from = "", not = "" }: {
    readonly position?: number;
    readonly trigger: string;
    readonly key?: string;
    readonly from?: string;
    readonly not?: string;
  },
): Promise<Wait> => {
  const part: WaitPart = {
    kind: "event",
    dueAt: Number.MAX_SAFE_INTEGER,
    isRelative: false,
    asked: { expressions: EXPRESSIONS, texts: [key], from, not },
    key: { trigger, shape: shapeOf(EXPRESSIONS), digest: digestOf([key]) },
  };
  const place = { taskId, position, round: 1, project: "default" };
  return rig.host.store.openWait({ ...place, parts: [part], now: rig.clock.time });
};

const stateOf = async (rig: SourceRig, taskId: string, position = 0) =>
  (await open(rig, taskId, { position, trigger: "ci" })).end?.by ?? "open";

/** What is said of the newest delivery about the open waits at its trigger. */
async function explained(rig: SourceRig, trigger: string): Promise<readonly string[]> {
  const [newest] = await rig.host.store.listDeliveries({ trigger, limit: 1 });
  const stored = newest && await rig.host.store.readDelivery(newest.id);
  if (stored === undefined) throw new Error("no delivery");
  const waits = await rig.host.store.listWaits({ project: "default", kind: "event", limit: 9 });
  const active = rig.host.triggers.named({ project: "default", trigger });
  const { evaluator } = rig.host;
  return (await missedWaits(stored, active, { waits, evaluator })).map(({ why }) => why);
}

const TIMES = times(1000, 60);

Deno.test(`an event told to the waiting task ends its wait, before and after it opens${TIMES.inName}`, async () => {
  await using rig = await sourceRig(TRIGGERS);
  await using waits = new EventWaits(rig.host);
  waits.start();
  const { taskId = "" } = await say(rig, "comments", { pr: "1", text: "begin" });
  await rig.store.claimTasks(9, rig.clock.time);
  const states: string[] = [];
  for (let position = 0; position < TIMES.count; position++) {
    const from = rig.host.newId();
    const opening = async () =>
      waits.lookBack(await open(rig, taskId, { position, trigger: "ci", from }));
    const telling = async () => {
      const told = await say(rig, "ci", { pr: "1", text: "green" });
      deepEqual([told.taskId, told.isMessage], [taskId, true]);
    };
    const [first, second] = position % 2 === 0 ? [opening, telling] : [telling, opening];
    if (position % 4 < 2) await Promise.all([first(), second()]);
    else {
      await first();
      rig.clock.time += 1;
      await second();
    }
    rig.clock.time += 1;
    await waits.settled();
    states.push(await stateOf(rig, taskId, position));
  }
  deepEqual(states.filter((state) => state !== "event"), []);
});

Deno.test("one that came before what the wait asks for does not, and that is said", async () => {
  await using rig = await sourceRig(TRIGGERS);
  await using waits = new EventWaits(rig.host);
  const { taskId = "" } = await say(rig, "comments", { pr: "1", text: "begin" });
  await rig.store.claimTasks(9, rig.clock.time);
  await say(rig, "ci", { pr: "1", text: "red" });
  rig.clock.time += 1;
  await waits.lookBack(await open(rig, taskId, { trigger: "ci", from: rig.host.newId() }));
  equal(await stateOf(rig, taskId), "open");
  deepEqual(await explained(rig, "ci"), ["it began to wait for later events"]);
});

Deno.test("the event that started a task, and those that joined it before, end no wait of it", async () => {
  await using rig = await sourceRig(TRIGGERS);
  await using waits = new EventWaits(rig.host);
  const first = await say(rig, "joined", { pr: "1" });
  const second = await say(rig, "joined", { pr: "1" });
  const { taskId = "" } = first;
  deepEqual([second.outcome, second.taskId, second.isMessage], ["accepted", taskId, undefined]);
  rig.clock.time += 5000;
  await rig.store.claimTasks(9, rig.clock.time);
  await waits.lookBack(await open(rig, taskId, { trigger: "joined" }));
  equal(await stateOf(rig, taskId), "open");
  deepEqual(await explained(rig, "joined"), ["its own task began with this event"]);

  const { taskId: talking = "" } = await say(rig, "comments", { pr: "2", text: "begin" });
  await rig.store.claimTasks(9, rig.clock.time);
  await waits.lookBack(await open(rig, talking, { trigger: "comments", key: "2" }));
  equal(await stateOf(rig, talking), "open");
  await say(rig, "comments", { pr: "2", text: "next" });
  await waits.settled();
  await waits.lookBack(await open(rig, talking, { position: 1, trigger: "comments", key: "2" }));
  equal(await stateOf(rig, talking, 1), "event");
});

Deno.test("an event that starts nothing because the task runs ends a wait of it", async () => {
  await using rig = await sourceRig(TRIGGERS);
  await using waits = new EventWaits(rig.host);
  const { taskId = "" } = await say(rig, "alone", { pr: "1" });
  await rig.store.claimTasks(9, rig.clock.time);
  const again = await say(rig, "alone", { pr: "1" });
  equal(again.outcome, "skipped");
  await waits.lookBack(await open(rig, taskId, { trigger: "alone" }));
  equal(await stateOf(rig, taskId), "event");
});
