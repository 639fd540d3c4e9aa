/**
 * Every method of the store: that it only reads, or what a successful call announces. So every way
 * to store something wakes the parts of the daemon that wait for it.
 *
 * @module
 */

import type { RecordName } from "../resources/record_names.ts";
import { type AfterCall, afterCalls } from "./store_calls.ts";
import type { EventDecision, EventOutcome } from "./delivery_records.ts";
import type { DaemonEvents, Events } from "./events.ts";
import type { NewMessage, OutboxMessage } from "./outbox_records.ts";
import type { Store, StoreMethod } from "./store.ts";
import type { ClaimedTask } from "./task_records.ts";

/** Announcements that do not name the changed record. */
const CHANGED = {
  task: { record: "task" },
  delivery: { record: "delivery" },
  "source-event": { record: "source-event" },
  binding: { record: "binding" },
  outbox: { record: "outbox" },
  audit: { record: "audit" },
  token: { record: "token" },
  "control-audit": { record: "control-audit" },
  node: { record: "node" },
  wait: { record: "wait" },
  approval: { record: "approval" },
  conversation: { record: "conversation" },
} as const satisfies Record<RecordName, DaemonEvents["recordsChanged"]>;
const NONE_REPLACED: readonly string[] = [];
const NONE_INTERRUPTED: readonly ClaimedTask[] = [];

function changed(events: Events, ...records: readonly RecordName[]): void {
  for (const record of records) events.publish("recordsChanged", CHANGED[record]);
}

/** Names the records, so that streams read only these. */
function changedOnly(events: Events, record: RecordName, ...ids: readonly string[]): void {
  for (const id of ids) events.publish("recordsChanged", { record, id });
}

function taskChanged(events: Events, id: string): void {
  changedOnly(events, "task", id);
}

/** A task shows how many messages are unread. */
function inboxFilled(events: Events, taskId: string): void {
  taskChanged(events, taskId);
  events.publish("inboxFilled", { taskId });
}

function messagesStored(events: Events, messages: readonly NewMessage[]): void {
  if (messages.length === 0) return;
  changedOnly(events, "outbox", ...messages.map(({ id }) => id));
  events.publish("messagesStored", undefined);
}

function messageChanged(events: Events, message: OutboxMessage | undefined): void {
  if (message === undefined) return;
  changedOnly(events, "outbox", message.id);
  if (message.state !== "pending" && message.state !== "held") {
    events.publish("messageEnded", message);
  }
}

const changes = (...records: readonly RecordName[]) => (events: Events) =>
  changed(events, ...records);
const changesWhenSome = (...records: readonly RecordName[]) => (events: Events, count: number) => {
  if (count > 0) changed(events, ...records);
};
const changesTask = (events: Events, _result: unknown, id: string) => taskChanged(events, id);
/** The task has changed, and others, or itself, may be ready now. */
const mayWakeTasks = (events: Events, _result: unknown, id: string) => {
  taskChanged(events, id);
  events.publish("tasksStored", { replaced: NONE_REPLACED });
};
/** For writes that no part of the daemon lists or waits for. */
const changesNothing = () => {};

/**
 * Whether recording an event may end a task that triggers follow: its own, if something it needs is
 * missing, or a pending one that it replaces.
 */
function mayEndTasks(event: EventDecision): boolean {
  if (event.outcome !== "accepted" || event.task.followed !== true) return false;
  return event.task.plan === undefined || event.task.concurrency?.policy === "Replace";
}

/** Whether recording an event may change another task than its own. */
function mayChangeTasks(event: EventDecision): boolean {
  return event.outcome === "accepted" && event.task.concurrency?.policy === "Replace";
}

function delivered(
  events: Events,
  outcomes: readonly EventOutcome[],
  admitted: readonly EventDecision[],
): void {
  const accepted = outcomes.filter(({ outcome }) => outcome === "accepted");
  if (accepted.length === 0) return;
  const ids = accepted.flatMap(({ taskId }) => taskId ?? []);
  if (ids.length < accepted.length || admitted.some(mayChangeTasks)) changed(events, "task");
  else changedOnly(events, "task", ...ids);
  for (const { isMessage, taskId } of accepted) {
    if (isMessage === true && taskId !== undefined) events.publish("inboxFilled", { taskId });
  }
  const replaced = outcomes.flatMap(({ replaces = NONE_REPLACED }) => replaces);
  events.publish("tasksStored", { replaced });
  if (admitted.some(mayEndTasks)) events.publish("taskEndsStored", undefined);
}

/**
 * The methods by name: `read`, or the announcement of one that writes. This is the one list of their
 * names that exists at run time: a method of `Store` that is missing here does not compile.
 */
const STORE_METHODS: { readonly [Name in StoreMethod]: "read" | AfterCall<Events, Name> } = {
  listNodes: "read",
  forgetNode(events) {
    changed(events, "node");
    events.publish("tasksStored", { replaced: NONE_REPLACED }); // its tasks may be claimed now
  },
  drainNode(events) {
    changed(events, "node");
    events.publish("tasksStored", { replaced: NONE_REPLACED }); // it may take pending tasks
  },
  reportNode: (events, isNews) => isNews && changed(events, "node"),
  loadResources: "read",
  // the catalog announces that they have changed, once it holds the change
  changeResources: (events) => events.publish("resourcesStored", undefined),
  resourceVersion: "read",
  adoptResources: changesNothing,
  awaitAdoption: "read",
  recordDelivery(events, outcomes, { delivery, events: admitted }) {
    changedOnly(events, "delivery", delivery.id);
    events.publish("deliveryStored", delivery);
    delivered(events, outcomes, admitted);
  },
  recordDeliveries(events, outcomes, { deliveries }) {
    changedOnly(events, "delivery", ...deliveries.map(({ delivery }) => delivery.id));
    for (const { delivery } of deliveries) events.publish("deliveryStored", delivery);
    delivered(events, outcomes.flat(), deliveries.flatMap((one) => one.events));
  },
  recordHandshake: (events, _, { id }) => changedOnly(events, "delivery", id),
  recordRejections: (events, _, rejections) =>
    changedOnly(events, "delivery", ...rejections.map(({ delivery }) => delivery.id)),
  listDeliveries: "read",
  findDeliveries: "read",
  readDelivery: "read",
  readDeliveries: "read",
  listHeaderValues: "read",
  recordSourceEvent(events, { status }, { ignored, event, delivery }) {
    changedOnly(events, "source-event", event.id);
    changedOnly(events, "delivery", delivery.id);
    if (status === "accepted" && ignored === undefined) {
      events.publish("sourceEventsStored", undefined);
    }
  },
  claimSourceEvents: (events, claim) =>
    changedOnly(events, "source-event", ...claim.events.map(({ event }) => event.id)),
  routeSourceEvent(events, routed, id) {
    changedOnly(events, "source-event", id);
    changed(events, "binding", "delivery");
    if (routed.taskId === undefined) return;
    if (routed.message !== undefined) inboxFilled(events, routed.taskId);
    if (routed.started === true) {
      changed(events, "task");
      events.publish("tasksStored", { replaced: routed.replaces ?? NONE_REPLACED });
      events.publish("taskEndsStored", undefined); // it, or one that it replaces, may have ended
    }
    events.publish("sourceEventRouted", { id, routed });
  },
  postponeSourceEvent: (events, _, id) => changedOnly(events, "source-event", id),
  replaySourceEvent(events, replayed, id) {
    if (!replayed) return;
    changedOnly(events, "source-event", id);
    events.publish("sourceEventsStored", undefined);
  },
  replayUnread(events, replayed) {
    if (replayed === 0) return;
    changed(events, "source-event");
    events.publish("sourceEventsStored", undefined);
  },
  listSourceEvents: "read",
  findSourceEvents: "read",
  findEventOfDelivery: "read",
  findThreadOfTask: "read",
  pruneSourceEvents: changesWhenSome("source-event", "binding"),
  bindThread: changes("binding"),
  listBindings: "read",
  findBindings: "read",
  listConversations: "read",
  findConversations: "read",
  bindConversation(events, { id }, { taskId }) {
    changedOnly(events, "conversation", id);
    taskChanged(events, taskId);
  },
  recordKeyUse: changesNothing,
  listKeyUse: "read",
  listTasks: "read",
  findTasks: "read",
  claimTasks(events, { tasks, interrupted = NONE_INTERRUPTED }) {
    for (const { task } of tasks) taskChanged(events, task.id);
    for (const { task } of interrupted) taskChanged(events, task.id);
  },
  claimInterrupted: (events, tasks) =>
    changedOnly(events, "task", ...tasks.map(({ task }) => task.id)),
  saveStep: changesTask,
  beginRound: changesTask,
  finishTask(events, ended, { taskId, followed }) {
    if (ended === false) return;
    taskChanged(events, taskId);
    if (followed === true || ended === "unread") events.publish("taskEndsStored", undefined);
  },
  requeueTask: changesTask,
  // its turn, its time or its cancellation may have come already
  parkTask: mayWakeTasks,
  // a turn that it gives up may go to a parked task, as one that ends
  takeTurn: (events, _, { taskId }) => mayWakeTasks(events, undefined, taskId),
  endTurn: mayWakeTasks,
  // a step that looks again changes nothing
  openWait(events, { openedAt, end }, { now, messages = [] }) {
    if (openedAt === now || end !== undefined) changed(events, "wait", "approval");
    if (openedAt === now && messages.length > 0) messagesStored(events, messages);
  },
  endWait(events, result, { taskId, now }) {
    // What came too late has ended it by its time.
    const hasEnded = result.is === "over" || result.is === "was over" && result.end.at === now;
    if (!hasEnded) return;
    changed(events, "wait", "approval");
    mayWakeTasks(events, undefined, taskId);
  },
  answerWait(events, result, { taskId }) {
    const hasEnded = result.is === "over" || result.is === "was over";
    if (hasEnded || result.is === "counted") changed(events, "wait", "approval");
    if (hasEnded) mayWakeTasks(events, undefined, taskId);
  },
  startChildren(events, { wait, made }, { wait: { now, taskId } }) {
    if (wait.openedAt === now || wait.end !== undefined) changed(events, "wait");
    if (wait.end === undefined) events.publish("childrenAwaited", undefined);
    if (made.length === 0 && wait.end === undefined) return;
    changedOnly(events, "task", taskId, ...made);
    events.publish("tasksStored", { replaced: NONE_REPLACED });
    if (made.length === 0) return;
    events.publish("taskEndsStored", undefined); // of those that miss something
  },
  endChild(events, ended) {
    if (ended === undefined) return;
    if (ended.isOver) changed(events, "wait");
    mayWakeTasks(events, undefined, ended.parentId);
  },
  findNextChildren: "read",
  listChildren: "read",
  listLostChildren: "read",
  listAbandonedChildren: "read",
  saveChildOutputs: changesNothing,
  listApprovals: "read",
  findApproval: "read",
  oldestApproval: "read",
  endWaits: changes("wait", "approval"),
  listWaits: "read",
  listWaitedTriggers: "read",
  listWaitShapes: "read",
  findWaits: "read",
  listWaitsOfDeliveries: "read",
  listFilledInboxes: "read",
  countWaits: "read",
  pauseTasks: changesNothing,
  resumeTasks(events, ended) {
    if (ended !== undefined) events.publish("tasksStored", { replaced: NONE_REPLACED });
  },
  listPauses: "read",
  countRunning: "read",
  listProjectRooms: "read",
  noteLimit: (events) => events.publish("tasksStored", { replaced: NONE_REPLACED }),
  settleRun: (events) => events.publish("tasksStored", { replaced: NONE_REPLACED }),
  askBudgetsAgain: (events) => events.publish("tasksStored", { replaced: NONE_REPLACED }),
  listBudgetUse: "read",
  listAgentUse: "read",
  saveSession: changesNothing,
  findSessions: "read",
  pruneSessions: changesNothing,
  cancelTask(events, result, taskId, { reason, followed }) {
    taskChanged(events, taskId);
    if (result === "stopping") {
      events.publish("taskStopping", { taskId, reason });
      events.publish("tasksStored", { replaced: NONE_REPLACED }); // it may have been parked
    }
    if (result === "cancelled" && followed === true) events.publish("taskEndsStored", undefined);
  },
  retryTask(events, _, { id, of }) {
    changedOnly(events, "task", id, of); // which may have handed over its directory
    events.publish("tasksStored", { replaced: NONE_REPLACED });
  },
  setTaskDirectory: changesTask,
  addToInbox(events, message, taskId) {
    if (message !== undefined) inboxFilled(events, taskId);
  },
  listInbox: "read",
  listUnread: "read",
  listTaskEnds: "read",
  forgetTaskEnd: (events, _, _id, answers) => messagesStored(events, answers),
  addToOutbox(events, reached, messages) {
    if (reached === undefined) messagesStored(events, messages);
  },
  claimMessages: (events, { messages }) =>
    changedOnly(events, "outbox", ...messages.map(({ message }) => message.id)),
  finishMessage: (events, message) => messageChanged(events, message),
  listMessages: "read",
  findMessages: "read",
  retryMessage(events, message) {
    messageChanged(events, message);
    if (message !== undefined) events.publish("messagesStored", undefined);
  },
  dropMessage: (events, message) => messageChanged(events, message),
  releaseMessage(events, message) {
    messageChanged(events, message);
    if (message !== undefined) events.publish("messagesStored", undefined);
  },
  expireHeld(events, { warned, dropped }) {
    for (const message of [...warned, ...dropped]) messageChanged(events, message);
  },
  readContent: "read",
  listOutputs: "read",
  outboxCounts: "read",
  pruneOutbox: changesWhenSome("outbox"),
  pruneTasks: (events, removed) => removed.length > 0 && changed(events, "task"),
  pruneDeliveries: changesWhenSome("delivery"),
  pruneRecords(events, { tasks, deliveries }) {
    if (tasks.length > 0) changed(events, "task");
    if (deliveries > 0) changed(events, "delivery", "source-event");
  },
  deleteBodies: (events, { deleted }) => {
    if (deleted > 0) changed(events, "delivery", "source-event");
  },
  listRecordTriggers: "read",
  emptyLog: changesNothing,
  deleteTask: (events, _, _id, { dryRun }) => {
    if (!dryRun) changed(events, "task", "outbox", "source-event", "binding");
  },
  deleteDelivery: (events, _, _id, { dryRun }) => {
    if (!dryRun) changed(events, "delivery", "task", "outbox", "source-event", "binding");
  },
  listConnectionStates: "read",
  noteConnection: changesNothing,
  findCursor: "read",
  moveCursor: changesNothing,
  claimRun: changesNothing,
  findPlan: "read",
  startAudit: (events, _, { id }) => changedOnly(events, "audit", id),
  finishAudit: (events, _, id) => changedOnly(events, "audit", id),
  recordAudit: (events, _, rows) =>
    changedOnly(events, "audit", ...rows.map(({ start }) => start.id)),
  claimInterruptedAudits: (events, rows) =>
    changedOnly(events, "audit", ...rows.map(({ id }) => id)),
  listAudit: "read",
  findAudit: "read",
  verifyAudit: "read",
  pruneAudit: changesWhenSome("audit"),
  recordControl: (events, _, { id }) => changedOnly(events, "control-audit", id),
  finishControl: (events, _, id) => changedOnly(events, "control-audit", id),
  listControl: "read",
  createToken: changes("token"),
  findToken: "read",
  listTokens: "read",
  revokeToken: changes("token"),
  findIds: "read",
  nthId: "read",
  counts: "read",
  databaseSize: "read",
  reclaimSpace: changesNothing,
};

/** Names of the methods. */
export const STORE_METHOD_NAMES = Object.keys(STORE_METHODS) as readonly StoreMethod[];

/**
 * Whether a method only reads. A batch of calls that all read needs no write transaction, and
 * continues while another process writes.
 */
export function isRead(method: StoreMethod): boolean {
  return STORE_METHODS[method] === "read";
}

/**
 * Wraps a store so that what its calls change is published on `events`, after it is on disk and
 * before the caller continues.
 */
export function withAnnouncements(store: Store, events: Events): Store {
  return afterCalls(store, STORE_METHODS, events);
}
