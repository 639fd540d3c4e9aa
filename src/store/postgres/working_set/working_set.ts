/**
 * Implements `DeliveryRows` for transactions over facts that were loaded before: deliveries, keys
 * of events, rates and cursors.
 *
 * @module
 */

import { utf8 } from "../../../base/bytes.ts";
import type { JsonObject } from "../../../base/json.ts";
import type { Cursor, DeliveryOutcome, KeyedEvent } from "../../delivery_records.ts";
import type { ConversationTask } from "../../rules/conversation.ts";
import type { EarlierEvent } from "../../rules/event_outcome.ts";
import { digestOfConversation } from "../../rules/keys.ts";
import type { Found } from "../../rules/needs.ts";
import type { RateState } from "../../rules/rate_limit.ts";
import { inboxAfter, toConversationTask } from "../../sql/conversations.ts";
import { StaleResourcesError } from "../../stale_resources.ts";
import type { NewTask } from "../../task_records.ts";
import type {
  DeliveryFacts,
  DeliveryRows,
  DeliverySummary,
  HandedOver,
  InboxFacts,
  OwnContent,
  RememberedEvent,
  SharedContent,
  TriggerKey,
} from "../../transactions/task_rows.ts";
import type { Session } from "../database/connections.ts";
import type { Facts } from "./facts.ts";
import { eventKey } from "./event_key.ts";
import { type BatchRequest, MissingFact } from "./batch_request.ts";
import type { KnownTask } from "./known_task.ts";
import { WorkingTasks } from "./working_tasks.ts";

const WRITE = "SELECT write(?, ?, ?, ?)";

/** The rows of one batch. A fact that was not loaded throws a {@linkcode MissingFact}. */
export class WorkingSet extends WorkingTasks implements DeliveryRows {
  readonly #request: BatchRequest;
  readonly #resourceVersion: number;
  readonly #earlier: Map<string, EarlierEvent>;
  readonly #rates: Map<string, RateState>;
  readonly #conversations: Map<string, { readonly taskId: string; readonly hasEnd: boolean }>;
  readonly #summaries: Map<string, DeliverySummary>;

  constructor(request: BatchRequest, facts: Facts) {
    super(request, facts);
    this.#request = request;
    this.#resourceVersion = facts.resource_version;
    this.#earlier = new Map(facts.earlier.map((one) => [one.digest, {
      deliveryId: one.delivery_id,
      receivedAt: one.received_at,
      taskId: one.task_id,
      state: one.state,
    }]));
    this.#conversations = new Map(
      facts.conversations?.map((one) =>
        [one.digest, { taskId: one.task_id, hasEnd: one.has_end }] as const
      ),
    );
    this.#rates = new Map(
      facts.rates.map((one) => [keyOf(one), { dueAt: one.due_at, seenAt: one.seen_at }]),
    );
    this.#summaries = new Map(facts.deliveries.map((one) => [one.id, {
      outcome: one.outcome as DeliveryOutcome,
      reason: one.reason,
      taskId: one.task_id,
      detail: one.detail,
    }]));
  }

  /**
   * Refuses a decision that was made by older resources. Without a version nothing is checked.
   *
   * @throws {StaleResourcesError}
   */
  checkResources(version: number | undefined): void {
    if (version !== undefined && version < this.#resourceVersion) throw new StaleResourcesError();
  }

  async write(db: Session): Promise<void> {
    const given = this.changes.toArguments(this.tasks.jobChanges());
    if (given !== undefined) await db.prepared(WRITE, ...given);
  }

  /** Queues the write as the last statement of the transaction. */
  writeLast(db: Session): void {
    const given = this.changes.toArguments(this.tasks.jobChanges());
    if (given !== undefined) db.last(WRITE, ...given);
  }

  findEarlier(keyed: KeyedEvent): Found<EarlierEvent> {
    const key = eventKey(keyed);
    if (key === undefined) return "none";
    if (!this.#request.hasEarlier(key)) throw new MissingFact((request) => request.addEarlier(key));
    const event = this.#earlier.get(key);
    if (event === undefined) return "none";
    const state = this.tasks.peek(event.taskId)?.state ?? event.state; // the batch may have ended it
    return { ...event, state };
  }

  findConversation(task: NewTask): Found<ConversationTask> {
    const digest = digestOfConversation(task);
    if (digest === undefined) return "none";
    if (!this.#request.hasConversation(digest)) {
      throw new MissingFact((request) => request.addConversation(digest));
    }
    const found = this.#conversations.get(digest.toHex());
    if (found === undefined) return "none";
    const known = this.tasks.peek(found.taskId);
    if (known === undefined && !this.#request.hasTask(found.taskId)) {
      throw new MissingFact((request) => request.addTask(found.taskId)); // it has gone on with a retry
    }
    if (known === undefined) return "none";
    return toConversationTask({ ...found, ...known });
  }

  bindConversation(task: NewTask, now: number): void {
    const { id: taskId, conversation } = task;
    const digest = digestOfConversation(task)?.toHex();
    if (digest === undefined || conversation === undefined) return;
    this.changes.put("conversations", digest, {
      digest,
      id: taskId,
      project: task.project,
      name: conversation.name,
      key: conversation.key,
      task_id: taskId,
      at: now,
    });
    this.#conversations.set(digest, { taskId, hasEnd: false });
  }

  addMessage(taskId: string, message: JsonObject, now: number): void {
    const task = this.tasks.get(taskId);
    const { messages: position, bytes, readUpTo } = task.inbox;
    const json = JSON.stringify(message);
    this.changes.put("inbox", `${taskId}/${position}`, {
      task_id: taskId,
      position,
      message: json,
      created_at: now,
    });
    this.#setInbox(task, { messages: position + 1, bytes: bytes + utf8(json).length, readUpTo });
  }

  handOver({ from, except, to }: HandedOver): void {
    const { inbox } = this.tasks.get(from);
    this.changes.put("handed_over", to, { from, to, first: inbox.readUpTo, taken: except });
    this.#setInbox(this.tasks.get(to), inboxAfter(inbox, except));
  }

  #setInbox(task: KnownTask, inbox: InboxFacts): void {
    const { messages, bytes: message_bytes } = inbox;
    this.changes.updateTask(task.id, { messages, message_bytes });
    this.tasks.change(task, { inbox });
  }

  findRate(trigger: TriggerKey): Found<RateState> {
    if (!this.#request.hasRate(trigger)) {
      throw new MissingFact((request) => request.addRate(trigger));
    }
    return this.#rates.get(keyOf(trigger)) ?? "none";
  }

  keepRate({ project, trigger }: TriggerKey, rate: RateState): void {
    const key = keyOf({ project, trigger });
    const { dueAt: due_at, seenAt: seen_at } = rate;
    this.changes.put("rates", key, { project, trigger, due_at, seen_at });
    this.#rates.set(key, rate);
  }

  rememberKey(keyed: KeyedEvent, event: RememberedEvent): void {
    const digest = eventKey(keyed);
    if (digest === undefined) return;
    const { deliveryId, receivedAt, taskId, forgetUpTo } = event;
    this.changes.forgetKeys(forgetUpTo);
    this.changes.put("dedup_keys", digest, {
      digest,
      delivery_id: deliveryId,
      task_id: taskId,
      created_at: receivedAt,
    });
    const state = taskId === "" ? "succeeded" : this.tasks.get(taskId).state; // as loaded facts say
    this.#earlier.set(digest, { deliveryId, receivedAt, taskId, state });
  }

  findSummary(deliveryId: string): Found<DeliverySummary> {
    const summary = this.#summaries.get(deliveryId);
    if (summary === undefined && !this.#request.hasDelivery(deliveryId)) {
      throw new MissingFact((request) => request.addDelivery(deliveryId));
    }
    return summary ?? "none";
  }

  insertDelivery(
    facts: DeliveryFacts,
    summary: DeliverySummary,
    content?: OwnContent | SharedContent,
  ): void {
    const kept = content !== undefined && "body" in content ? content : undefined;
    this.changes.addDelivery({
      id: facts.id,
      project: facts.project,
      trigger: facts.trigger,
      source: facts.source,
      via: facts.via,
      received_at: facts.receivedAt,
      outcome: summary.outcome,
      reason: summary.reason,
      status: facts.status,
      remote: facts.remote,
      secret_store: facts.secretStore,
      secret_key: facts.secretKey,
      task_id: summary.taskId,
      body_bytes: facts.bodyBytes,
      duration_ms: facts.durationMs,
      detail: summary.detail,
      headers: kept?.headers,
      url: kept?.url,
      content_of: content !== undefined && "contentOf" in content ? content.contentOf : undefined,
    }, kept?.body);
    this.#summaries.set(facts.id, summary);
  }

  moveCursor({ name, at }: Cursor): void {
    this.changes.put("cursors", name, { name, at });
  }
}

const keyOf = ({ project, trigger }: TriggerKey) => `${project}/${trigger}`;
