/**
 * A store that announces what its calls change, so that every way to store something wakes the
 * rooms that wait for it. An announcement is made after the change is on disk, and before the
 * caller continues.
 *
 * @module
 */

import type { RecordName } from "../resources/record_names.ts";
import type { EventDecision, EventOutcome } from "./delivery_records.ts";
import type { DaemonEvents, Events } from "./events.ts";
import type { NewMessage, OutboxMessage } from "./outbox_records.ts";
import type { Store, StoreMethod } from "./store.ts";

/** Publishes what one successful call has changed. */
type Announcement<Name extends StoreMethod> = (
  events: Events,
  result: Awaited<ReturnType<Store[Name]>>,
  ...args: Parameters<Store[Name]>
) => void;

/** Shared constants: a busy daemon announces thousands of these in a second. */
const CHANGED = {
  task: { record: "task" },
  delivery: { record: "delivery" },
  "source-event": { record: "source-event" },
  binding: { record: "binding" },
  outbox: { record: "outbox" },
  audit: { record: "audit" },
  token: { record: "token" },
  "control-audit": { record: "control-audit" },
} as const satisfies Record<RecordName, DaemonEvents["recordsChanged"]>;
const NONE_REPLACED: readonly string[] = [];

function changed(events: Events, ...records: readonly RecordName[]): void {
  for (const record of records) events.publish("recordsChanged", CHANGED[record]);
}

function taskChanged(events: Events, id: string): void {
  events.publish("recordsChanged", { record: "task", id });
}

function messagesStored(events: Events, messages: readonly NewMessage[]): void {
  if (messages.length === 0) return;
  changed(events, "outbox");
  events.publish("messagesStored", undefined);
}

function messageChanged(events: Events, message: OutboxMessage | undefined): void {
  if (message === undefined) return;
  events.publish("recordsChanged", { record: "outbox", id: message.id });
  if (message.state !== "pending") events.publish("messageEnded", message);
}

const changes = (...records: readonly RecordName[]) => (events: Events) =>
  changed(events, ...records);
const changesWhenSome = (...records: readonly RecordName[]) => (events: Events, count: number) => {
  if (count > 0) changed(events, ...records);
};
const changesTask = (events: Events, _result: unknown, id: string) => taskChanged(events, id);
/** For writes that no room lists or waits for. */
const changesNothing = () => {};

/**
 * Whether recording an event ends a task that triggers follow: its own, which misses something it
 * needs, or one that it replaces before its start.
 */
function mayEndTasks(event: EventDecision): boolean {
  if (event.outcome !== "accepted" || event.task.followed !== true) return false;
  return event.task.plan === undefined || event.task.concurrency?.policy === "Replace";
}

function delivered(
  events: Events,
  outcomes: readonly EventOutcome[],
  admitted: readonly EventDecision[],
): void {
  changed(events, "delivery");
  if (!outcomes.some(({ outcome }) => outcome === "accepted")) return;
  changed(events, "task");
  const replaced = outcomes.flatMap(({ replaces = NONE_REPLACED }) => replaces);
  events.publish("tasksStored", { replaced });
  if (admitted.some(mayEndTasks)) events.publish("taskEndsStored", undefined);
}

/** The announcement of each method that writes; methods that only read have none. */
export const ANNOUNCEMENTS: { readonly [Name in StoreMethod]?: Announcement<Name> } = {
  changeResources: changesNothing, // the catalog announces it, once it holds the change
  recordDelivery: (events, outcomes, { events: admitted }) => delivered(events, outcomes, admitted),
  recordDeliveries: (events, outcomes, { deliveries }) =>
    delivered(events, outcomes.flat(), deliveries.flatMap((one) => one.events)),
  recordHandshake: changes("delivery"),
  recordRejections: changes("delivery"),
  claimTasks(events, { tasks }) {
    for (const { task } of tasks) taskChanged(events, task.id);
  },
  claimInterrupted: (events, tasks) => tasks.length > 0 && changed(events, "task"),
  countRestarts: (events, _, ids) => ids.length > 0 && changed(events, "task"),
  saveStep: changesTask,
  finishTask(events, ended, { taskId, followed }) {
    if (!ended) return;
    taskChanged(events, taskId);
    if (followed === true) events.publish("taskEndsStored", undefined);
  },
  requeueTask: changesTask,
  cancelTask(events, result, taskId, { followed }) {
    taskChanged(events, taskId);
    if (result === "cancelled" && followed === true) events.publish("taskEndsStored", undefined);
  },
  retryTask(events) {
    changed(events, "task");
    events.publish("tasksStored", { replaced: NONE_REPLACED });
  },
  setTaskDirectory: changesTask,
  addToInbox: changesNothing,
  forgetTaskEnd: (events, _, _id, answers) => messagesStored(events, answers),
  addToOutbox: (events, _, messages) => messagesStored(events, messages),
  claimMessages: (events, { messages }) => messages.length > 0 && changed(events, "outbox"),
  finishMessage: (events, message) => messageChanged(events, message),
  retryMessage(events, message) {
    messageChanged(events, message);
    if (message !== undefined) events.publish("messagesStored", undefined);
  },
  dropMessage: (events, message) => messageChanged(events, message),
  pruneOutbox: changesWhenSome("outbox"),
  pruneTasks: (events, removed) => removed.length > 0 && changed(events, "task"),
  pruneDeliveries: changesWhenSome("delivery"),
  recordSourceEvent(events, { status }, { ignored }) {
    changed(events, "source-event", "delivery");
    if (status === "accepted" && ignored === undefined) {
      events.publish("sourceEventsStored", undefined);
    }
  },
  claimSourceEvents: (events, claim) => claim.events.length > 0 && changed(events, "source-event"),
  routeSourceEvent(events, routed, id) {
    changed(events, "source-event", "binding", "delivery");
    if (routed.taskId === undefined) return;
    if (routed.started === true) {
      changed(events, "task");
      events.publish("tasksStored", { replaced: routed.replaces ?? NONE_REPLACED });
      events.publish("taskEndsStored", undefined); // it, or one that it replaces, may have ended
    }
    events.publish("sourceEventRouted", { id, routed });
  },
  postponeSourceEvent: changes("source-event"),
  replaySourceEvent(events, replayed) {
    if (!replayed) return;
    changed(events, "source-event");
    events.publish("sourceEventsStored", undefined);
  },
  pruneSourceEvents: changesWhenSome("source-event", "binding"),
  bindThread: changes("binding"),
  noteConnection: changesNothing,
  moveCursor: changesNothing,
  recordKeyUse: changesNothing,
  startAudit: changes("audit"),
  finishAudit: changes("audit"),
  recordAudit: changes("audit"),
  claimInterruptedAudits: (events, rows) => rows.length > 0 && changed(events, "audit"),
  pruneAudit: changesWhenSome("audit"),
  recordControl: changes("control-audit"),
  finishControl: changes("control-audit"),
  createToken: changes("token"),
  revokeToken: changes("token"),
  reclaimSpace: changesNothing,
};

type AnyAnnouncement = (events: Events, result: unknown, ...args: readonly unknown[]) => void;
type AnyMethod = (...args: readonly unknown[]) => Promise<unknown>;

/** Wraps a store so that what its calls change is published on `events`. */
export function withAnnouncements(store: Store, events: Events): Store {
  const own = Object.fromEntries(
    Object.entries(ANNOUNCEMENTS).map(([name, given]) => [
      name,
      (...args: readonly unknown[]) => {
        const announce = given as AnyAnnouncement;
        const result = (Reflect.get(store, name) as AnyMethod)(...args);
        result.then((value) => announce(events, value, ...args), () => {});
        // the store's own promise: the caller waits no longer because of the announcement
        return result;
      },
    ]),
  );
  return { ...store, ...own };
}
