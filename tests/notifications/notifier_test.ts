/**
 * Who is told of what, how often, and in which words.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { EventHub } from "../../src/base/event_hub.ts";
import { idFactory } from "../../src/base/ids.ts";
import { createLog } from "../../src/base/log.ts";
import { noticeOfFault } from "../../src/notifications/notice.ts";
import { Notifier } from "../../src/notifications/notifier.ts";
import { OverdueApprovals } from "../../src/notifications/overdue_approvals.ts";
import { NotificationIndex } from "../../src/notifications/indexed_notifications.ts";
import type { Draft } from "../../src/outbox/message_kind.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import type { NotificationSpec } from "../../src/resources/notification.ts";
import { incidentOfApproval } from "../../src/store/approval_incident.ts";
import type { NodeRecord } from "../../src/store/node_records.ts";
import type { DaemonEvents } from "../../src/store/events.ts";
import type { Task } from "../../src/store/task_records.ts";
import { ManualClock } from "../helpers/manual_clock.ts";

function notificationOf(name: string, spec: Partial<NotificationSpec>, project = "default") {
  return {
    kind: "Notification",
    project,
    name,
    metadata: {},
    generation: 1,
    createdAt: 0,
    updatedAt: 0,
    spec: Object.assign({
      on: ["task.failed", "task.recovered", "gap.lost", "answer.failed", "daemon.degraded"],
      to: [{ webhook: { url: `http://127.0.0.1:9/${name}` } }],
    }, spec),
  };
}

let count = 0;

function taskOf(given: Partial<Task> = {}): Task {
  return {
    id: `task-${++count}`,
    project: "default",
    trigger: "github-push",
    workflow: "ci",
    workspace: "w",
    state: "failed",
    reason: "exit 1",
    deliveryId: "",
    createdAt: 0,
    finishedAt: 1000,
    restarts: 0,
    parentId: "",
    rootId: "",
    retryOf: "",
    depth: 0,
    directory: "",
    cancelReason: "",
    activeMs: 0,
    steps: [],
    ...given,
  };
}

/** A notifier over Notifications, whose messages are only kept. */
function rigOf(...resources: ReturnType<typeof notificationOf>[]) {
  const clock = new ManualClock();
  const catalog = new Catalog(resources);
  const log = createLog({ level: "error", format: "json", clock, write: () => {} });
  const events = new EventHub<DaemonEvents>(log);
  const told: Draft[] = [];
  const before: Task[] = [];
  const newId = idFactory(clock);
  const notifications = new NotificationIndex(catalog);
  const keep = (drafts: readonly Draft[]) => {
    told.push(...drafts);
    return drafts.map((one) => Object.assign({}, one, { id: newId(), now: clock.now() }));
  };
  const notifier = new Notifier({
    catalog,
    store: { listTasks: () => Promise.resolve(before) },
    outbox: {
      prepare: keep,
      enqueue: (drafts) => Promise.resolve(keep(drafts).map(({ id }) => id)),
    },
    notifications,
    events,
    newId,
    clock,
    log,
  });
  const titles = () =>
    told.splice(0).map(({ target, body }) => `${target["notification"]}: ${body["title"]}`);
  return {
    clock,
    catalog,
    events,
    notifications,
    notifier,
    told,
    before,
    titles,
    [Symbol.asyncDispose]: () => notifier[Symbol.asyncDispose](),
  };
}

Deno.test("a failed task is reported to the Notifications that match it, and to no others", async () => {
  await using rig = rigOf(
    notificationOf("all", {}),
    notificationOf("push", { match: { trigger: "github-*" } }),
    notificationOf("other", { match: { trigger: "line-*" } }),
    notificationOf("deploys", { match: { workflow: "deploy" } }),
    notificationOf("gaps", { on: ["gap.lost"] }),
    notificationOf("team", {}, "team"),
  );
  await rig.notifier.atEnd(taskOf());
  deepEqual(rig.titles(), [
    "all: Workflow ci of trigger github-push failed",
    "push: Workflow ci of trigger github-push failed",
  ]);
  await rig.notifier.atEnd(taskOf({ state: "cancelled" }));
  deepEqual(rig.titles(), []);
  equal(rig.notifications.hasTask(taskOf()), true);
  equal(rig.notifications.hasTask(taskOf({ project: "none" })), false);
  await rig.notifier.atEnd(taskOf({ project: "team" }));
  match(rig.titles().join(), /^team: Workflow ci of trigger github-push failed \(project team\)$/);
});

Deno.test("a cause is reported once in its interval, and then as a number", async () => {
  await using rig = rigOf(notificationOf("me", { every: "10m" }));
  for (let n = 0; n < 8; n++) await rig.notifier.atEnd(taskOf({ reason: `exit ${n}` }));
  await rig.notifier.atEnd(taskOf({ workflow: "deploy" }));
  deepEqual(rig.titles(), [
    "me: Workflow ci of trigger github-push failed",
    "me: Workflow deploy of trigger github-push failed",
  ]);
  await rig.clock.advance(10 * 60_000);
  equal(rig.told.length, 1, "the other one has not happened again");
  match(String(rig.told[0]?.body["title"]), /failed, 7 more times since /);
  match(String(rig.told[0]?.body["text"]), /^The last: exit 7\n/);
  equal((rig.told[0]?.body["data"] as Record<string, unknown>)["count"], 7);
  rig.titles();
  await rig.notifier.atEnd(taskOf());
  deepEqual(rig.titles(), [], "that number was told just now");
  await rig.clock.advance(10 * 60_000);
  match(rig.titles().join(), /once more since/);
  await rig.clock.advance(10 * 60_000);
  await rig.notifier.atEnd(taskOf());
  deepEqual(rig.titles(), ["me: Workflow ci of trigger github-push failed"]);
});

Deno.test("the end of a task that is handled twice gives its message twice, and counts once", async () => {
  await using rig = rigOf(notificationOf("me", {}));
  const first = taskOf();
  equal((await rig.notifier.atEnd(first)).length, 1);
  equal((await rig.notifier.atEnd(first)).length, 1, "the first try to store it failed");
  const second = taskOf();
  await rig.notifier.atEnd(second);
  await rig.notifier.atEnd(second);
  rig.titles();
  await rig.clock.advance(3600_000);
  match(rig.titles().join(), /once more since/);
});

Deno.test("every: 0 tells each time", async () => {
  await using rig = rigOf(notificationOf("me", { every: 0 }));
  for (let n = 0; n < 3; n++) await rig.notifier.atEnd(taskOf());
  equal(rig.titles().length, 3);
});

Deno.test("failures that were only counted are reported when the daemon stops", async () => {
  const rig = rigOf(notificationOf("me", {}));
  for (let n = 0; n < 3; n++) await rig.notifier.atEnd(taskOf());
  rig.titles();
  await rig.notifier[Symbol.asyncDispose]();
  match(rig.titles().join(), /2 more times since/);
});

Deno.test("the first success after a failure is told, once, and makes the next failure new", async () => {
  await using rig = rigOf(notificationOf("me", {}));
  const ok = () => taskOf({ state: "succeeded", reason: "" });
  await rig.notifier.atEnd(ok());
  deepEqual(rig.titles(), [], "nothing had failed");
  await rig.notifier.atEnd(taskOf());
  rig.titles();
  rig.before.push(taskOf({ state: "cancelled" }), taskOf({ state: "failed" }));
  await rig.notifier.atEnd(ok());
  deepEqual(rig.titles(), ["me: Workflow ci of trigger github-push works again"]);
  rig.before.unshift(ok());
  await rig.notifier.atEnd(ok());
  deepEqual(rig.titles(), []);
  await rig.notifier.atEnd(taskOf());
  deepEqual(rig.titles(), ["me: Workflow ci of trigger github-push failed"]);
});

Deno.test("incidents and faults are told, whatever the globs over triggers say", async () => {
  await using rig = rigOf(
    notificationOf("me", { match: { trigger: "github-*" } }),
    notificationOf("conn", { match: { connection: "tide*" } }),
  );
  const lost = { kind: "gap.lost", project: "default", reason: "3 events" } as const;
  rig.events.publish("incidentHappened", Object.assign({}, lost, { connection: "tidepool" }));
  deepEqual(rig.titles(), [
    "conn: Events of connection tidepool are lost",
    "me: Events of connection tidepool are lost",
  ]);
  rig.events.publish("incidentHappened", Object.assign({}, lost, { connection: "other" }));
  deepEqual(rig.titles(), ["me: Events of connection other are lost"]);
  rig.notifier.tellFaults(["the disk is nearly full: 200 MiB left"]);
  equal(rig.titles().length, 2);
  rig.notifier.tellFaults(["the disk is nearly full: 150 MiB left"]);
  deepEqual(rig.titles(), [], "it is the same fault");
  equal(noticeOfFault("x 1.5 y 2", 0).cause, noticeOfFault("x 2 y 30.25", 0).cause);
});

/** A question that was asked at 0 and has until ten hours later. */
const question = (position = 0) => ({
  taskId: "task-1",
  position,
  round: 1,
  project: "default",
  step: "ok",
  trigger: "github-push",
  workflow: "deploy",
  openedAt: 0,
  dueAt: 36_000_000,
  answers: [],
  asked: {
    digest: "7f3a91c2",
    ask: "Deploy c0ffee?\nIt is Friday",
    fields: {},
    by: ["ada", "@ops"],
    need: 1,
    fourEyes: false,
    protection: "none" as const,
  },
});

Deno.test("each question is told when it is asked, to those who match its workflow", async () => {
  await using rig = rigOf(
    notificationOf("me", { on: ["approval.asked"], match: { workflow: "dep*" } }),
    notificationOf("other", { on: ["approval.asked"], match: { workflow: "review" } }),
  );
  for (const position of [0, 1]) {
    const incident = incidentOfApproval("approval.asked", question(position));
    rig.events.publish("incidentHappened", incident);
  }
  equal(
    rig.told[0]?.body["text"],
    "step ok of workflow deploy asks ada, @ops until 1970-01-01T10:00:00.000Z: " +
      "Deploy c0ffee? It is Friday\nsvc get approvals",
  );
  deepEqual(rig.titles(), Array(2).fill("me: A question waits for people"));
});

Deno.test("an overdue question is told at half its time, then once in each `every`, while it is open", async () => {
  await using rig = rigOf(notificationOf("me", { on: ["approval.overdue"], every: "2h" }));
  const { clock, notifications, events } = rig;
  const open = [question()];
  const node = { name: "", isDrained: false, running: 0, facts: {}, isAlive: true };
  const startLooking = (self: string) =>
    new OverdueApprovals({
      store: {
        listApprovals: () => Promise.resolve(open),
        listNodes: () =>
          Promise.resolve(
            ["a", "b"].map((id) => ({ ...node, id, isSelf: id === self } as NodeRecord)),
          ),
      },
      notifications,
      events,
      clock,
      log: createLog({ level: "error", format: "json", clock, write: () => {} }),
    });
  await using _one = startLooking("a");
  await using _other = startLooking("b"); // of several nodes one tells
  clock.time = 0;
  const look = async (at: number) => {
    await clock.advance(at - clock.now());
    return rig.titles().length;
  };
  const HOUR = 3_600_000;
  equal(await look(4.9 * HOUR), 0);
  equal(await look(5.1 * HOUR), 1);
  equal(await look(6 * HOUR), 0);
  equal(await look(7.3 * HOUR), 1);
  open.pop();
  equal(await look(9.9 * HOUR), 0, "it was answered");
});

Deno.test("a clock that is set has nobody told of half a time that is not over, nor too late", async () => {
  await using rig = rigOf(notificationOf("me", { on: ["approval.overdue"], every: "2h" }));
  const { clock, notifications, events } = rig;
  let asked = question();
  const log = createLog({ level: "error", format: "json", clock, write: () => {} });
  const store = {
    listApprovals: () => Promise.resolve([asked]),
    listNodes: () => Promise.resolve([{ isAlive: true, isSelf: true } as NodeRecord]),
  };
  await using _looking = new OverdueApprovals({ store, notifications, events, clock, log });
  const [HOUR, SOON] = [3_600_000, 0.1];
  const after = async (hours: number) => {
    await clock.advance(hours * HOUR);
    return rig.titles().length;
  };
  const set = (hours: number) => {
    clock.time = hours * HOUR;
  };
  set(0);
  equal(await after(1), 0);
  set(6);
  equal(await after(SOON), 1, "set forward: half of it is over");
  set(2);
  equal(await after(2.9), 0, "set back: it is not over any more");
  equal(await after(2 * SOON), 1, "and then it is, once more");
  set(-100);
  equal(await after(3), 0, "before it was asked");
  asked = { ...asked, openedAt: -97 * HOUR, dueAt: -87 * HOUR }; // its wait has begun anew
  equal(await after(4.9), 0);
  equal(await after(2 * SOON), 1, "half of the time that it has now");
  set(-86);
  equal(await after(3), 0, "nobody can answer any more");
});

Deno.test("messages go to each target of a Notification", async () => {
  const to: NotificationSpec["to"] = [
    { webhook: { url: "http://127.0.0.1:9/" } },
    { slack: { connection: "chat", channel: "C0123456789" } },
    { email: { server: "smtp://127.0.0.1", from: "a@b.c", to: ["d@e.f"] } },
  ];
  await using rig = rigOf(notificationOf("me", { to }));
  await rig.notifier.atEnd(taskOf());
  deepEqual(rig.told.map(({ kind, connection, target }) => [kind, connection, target]), [
    ["webhook", "", { notification: "me", to: 1 }],
    ["slack-post", "chat", { trigger: "", channel: "C0123456789", thread: "" }],
    ["email", "", { notification: "me", to: 3 }],
  ]);
  match(String(rig.told[1]?.body["text"]), /^Workflow ci of trigger github-push failed\nexit 1\n/);
});
