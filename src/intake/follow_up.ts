/**
 * What becomes of messages that no step of a task was given before it ended: a reply that came in the
 * last second. They go the way that they would have gone after the end
 * (docs/decisions/0038-conversations.md).
 *
 * @module
 */

import type { AskedBy } from "../base/asked_by.ts";
import type { Core } from "../base/core.ts";
import { defined } from "../base/defined.ts";
import { AppError } from "../base/errors.ts";
import { eventId } from "../base/ids.ts";
import { bestOf, type EventOutcome, type StoredDelivery } from "../store/delivery_records.ts";
import type { DeliveryRecorder, DeliveryStore } from "../store/delivery_store.ts";
import type { SourceEventQueue } from "../store/source_event_store.ts";
import type { InboxStore, TaskStore } from "../store/task_store.ts";
import type { InboxMessage, Task } from "../store/task_records.ts";
import type { TriggerEvent } from "./admission/admit.ts";
import type { ActiveTrigger, Triggers } from "./admission/triggers.ts";
import { DeliveryContext } from "./pipeline/delivery_context.ts";
import { fire, firedPayload, type FireHost } from "./pipeline/fire.ts";
import { decideEvents, type PipelineHost, read, STORED_REQUEST } from "./pipeline/pipeline.ts";
import { storedRequest } from "./pipeline/stored_request.ts";
import { byCurrentResources } from "../store/stale_resources.ts";
import type { Plan } from "../tasks/plan.ts";
import { readsMessages } from "../tasks/reading.ts";

/** The parts of the daemon that take messages up again. */
export interface FollowUpHost extends PipelineHost, FireHost, Core {
  readonly store:
    & DeliveryRecorder
    & Pick<DeliveryStore, "readDelivery">
    & Pick<InboxStore, "listUnread">
    & Pick<TaskStore, "findPlan" | "findTasks">
    & Pick<SourceEventQueue, "replayUnread">;
  readonly triggers: Triggers;
}

/** A message of a conversation, and where it came from. */
interface Unread {
  readonly position: number;
  readonly deliveryId: string;
  /** The event of that delivery. */
  readonly index: number;
  readonly trigger: string;
  /** How many tasks precede it in a chain of task triggers. */
  readonly depth?: number;
}

/**
 * Takes up the unread messages of an ended task: those of a chat are routed again, and of those of a
 * conversation the first that may start a task does. Each step of it can be repeated, and then does
 * nothing.
 *
 * @throws {AppError} `overloaded`: to be called again.
 */
export async function followUp(task: Task, host: FollowUpHost): Promise<void> {
  const { id, project, state } = task;
  const { store, clock, log } = host;
  if (state === "cancelled") return; // who cancels a task means its messages, too
  const unread = await store.listUnread(id);
  if (unread.some(isOfChat) && await canRead(id, store)) await store.replayUnread(id, clock.now());
  for (const message of unread.flatMap(toUnread)) {
    const outcome = await byCurrentResources(
      host.resources,
      (resourceVersion) => startFrom(message, { task, resourceVersion }, host),
    ).catch((error) => {
      if (!(error instanceof AppError) || error.code === "overloaded") throw error;
      log.warn("a message to a task starts no follow-up", { project, task: id, error });
      return undefined;
    });
    if (outcome?.outcome !== "accepted" || outcome.isMessage === true) continue;
    // Where the conversation goes on with another task by now, the others have not gone over.
    const [started] = await store.findTasks(outcome.taskId ?? "");
    if (started === undefined || started.parentId === id) return;
  }
}

const isOfChat = ({ message }: InboxMessage) => message["source_event_id"] !== undefined;

/**
 * Whether the task could have read its messages. The replies in the thread of a task that reads none are
 * only kept.
 */
async function canRead(id: string, store: FollowUpHost["store"]): Promise<boolean> {
  const plan = await store.findPlan(id);
  return plan !== undefined && readsMessages(JSON.parse(plan) as Plan);
}

function toUnread({ position, message }: InboxMessage): Unread[] {
  const { delivery_id: deliveryId, event: index = 0, trigger, depth } = message;
  if (typeof deliveryId !== "string" || typeof trigger !== "string") return [];
  return [{
    position,
    deliveryId,
    trigger,
    index: Number(index),
    ...typeof depth === "number" ? { depth } : {},
  }];
}

/** Takes the event of a message again; `undefined` if it starts nothing whatever is decided. */
async function startFrom(
  { position, deliveryId, index, trigger: name, depth }: Unread,
  { task, resourceVersion }: { readonly task: Task; readonly resourceVersion: number },
  host: FollowUpHost,
): Promise<EventOutcome | undefined> {
  const trigger = host.triggers.find({ project: task.project, trigger: name });
  const { conversation } = trigger?.resource.spec ?? {};
  if (trigger === undefined || conversation === undefined || conversation.starts === false) {
    return undefined;
  }
  const stored = await host.store.readDelivery(deliveryId);
  if (stored === undefined) return undefined;
  const id = eventId(task.finishedAt ?? 0, JSON.stringify(["follow-up", task.id, position]));
  const more = {
    follows: { taskId: task.id, position },
    parentId: task.id,
    again: true,
    ...defined({ depth }), // a follow-up is no link of a chain: each has a message from outside
  };
  if (stored.delivery.via !== "internal") {
    return await takeRequest(stored, { id, trigger, resourceVersion, index, more }, host);
  }
  return await fire({
    id,
    trigger,
    resourceVersion,
    source: stored.delivery.source,
    redeliveryOf: deliveryId,
    ...defined({ by: whoSent(stored) }),
    once: true,
    ...firedPayload(stored, trigger),
    ...more,
  }, host);
}

/** Who had the delivery of a message fired or redelivered: it may be gone before the follow-up asks. */
function whoSent({ delivery: { detail } }: StoredDelivery): AskedBy | undefined {
  const { redeliveryOf, follows, by } = detail;
  if (by !== undefined || redeliveryOf === undefined || follows !== undefined) return by;
  return { called: `the one who redelivered delivery ${redeliveryOf}` };
}

async function takeRequest(
  stored: StoredDelivery,
  { id, trigger, resourceVersion, index, more }: {
    readonly id: string;
    readonly trigger: ActiveTrigger;
    readonly resourceVersion: number;
    readonly index: number;
    readonly more: Pick<TriggerEvent, "follows" | "parentId" | "depth" | "again">;
  },
  host: FollowUpHost,
): Promise<EventOutcome | undefined> {
  const { clock, triggers } = host;
  const context = new DeliveryContext({ id, clock, remote: stored.delivery.remote });
  context.redeliveryOf = stored.delivery.id;
  context.follows = more.follows?.taskId;
  context.by = whoSent(stored);
  context.trigger = trigger;
  const request = storedRequest(stored, context);
  const result = await read(request, trigger, STORED_REQUEST, host);
  if (result.handshake !== undefined) return undefined;
  const { parsed, events } = await decideEvents(
    result.parsed,
    { trigger, waits: true, more },
    host,
  );
  const event = events[index];
  if (event === undefined) return undefined;
  context.passed("decided");
  const { headers, body, url } = parsed.delivery;
  return bestOf(
    await host.store.recordDelivery({
      delivery: context.facts(),
      content: { headers, body, url },
      events: [event],
      once: true,
      ...triggers.dedupTimesOf(trigger),
      resourceVersion,
    }),
  );
}
