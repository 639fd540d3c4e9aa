/**
 * The sender of the outbox: claims what is due, sends it, records what came of it. Messages of one
 * lane go one after the other; between two of them lies what the other system allows. What nobody
 * knows the fate of is looked for before it is sent again, or given up where it cannot be.
 *
 * @module
 */

import { defined } from "../base/defined.ts";
import { messageOf } from "../base/errors.ts";
import type { NewId } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import { retryWhileOverloaded } from "../base/retry_while_overloaded.ts";
import { SerialRunner } from "../base/serial_runner.ts";
import type { KnownSecrets } from "../secrets/known_secrets.ts";
import type { Events } from "../store/events.ts";
import type { ClaimedMessage, MessageResult, NewMessage } from "../store/outbox_records.ts";
import type { OutboxQueue, OutboxRecorder } from "../store/outbox_store.ts";
import type { Draft, MessageKind, Rate, SendHost, SendResult } from "./message_kind.ts";
import { findMessageKind } from "./messages.ts";
import { nextTryAt, RateLimiter } from "./send_times.ts";

/** What an {@linkcode Outbox} needs. */
export interface OutboxHost extends Omit<SendHost, "signal"> {
  readonly store: OutboxRecorder & OutboxQueue;
  /** Hides them in what is stored. */
  readonly secrets: KnownSecrets;
  readonly newId: NewId;
  readonly events: Events;
  readonly log: Log;
  /** Kinds of messages; those of `messages.ts` when absent. */
  readonly findKind?: (name: string) => MessageKind | undefined;
}

/** Lanes that send at the same time. */
const MAX_LANES = 20;
/** How long a call under way may delay the end of the daemon. */
const STOP_WITHIN_MS = 2000;

/** How long another system may still work on a request whose sender has gone. */
const SETTLE_MS = 10_000;
/** Longest pause of a lane for which the other system did not ask. */
const MAX_LANE_PAUSE_MS = 60_000;

/** Ends the reason of a message whose fate nobody knows and nobody can find out. */
const UNKNOWN_FATE = "it may have arrived, so look there; svc outbox retry sends it again";

/** A time in which a lane sends nothing. */
interface LanePause {
  /** Its end, in milliseconds since the epoch. */
  readonly until: number;
  /** Whether the other system wants it, by an answer or by its limits. */
  readonly isAsked: boolean;
}

/** Takes messages, and sends them until it is disposed. */
export class Outbox implements AsyncDisposable {
  readonly #host: OutboxHost;
  readonly #findKind: (name: string) => MessageKind | undefined;
  readonly #runner: SerialRunner;
  readonly #subscription: Disposable;
  readonly #stopping = new AbortController();
  readonly #sending = new Map<string, Promise<void>>();
  readonly #pauses = new Map<string, LanePause>();
  readonly #limiters = new Map<string, RateLimiter>();
  /** By the id of a task, what tells of its start and is not stored yet. */
  readonly #starts = new Map<string, Promise<void>>();

  /** Continues with what the previous run of the daemon left behind. */
  constructor(host: OutboxHost) {
    this.#host = host;
    this.#findKind = host.findKind ?? findMessageKind;
    const { clock, log } = host;
    this.#runner = new SerialRunner({
      run: () => this.#claim(),
      onError: (error) =>
        log.error("messages cannot be claimed, trying again in a second", { error }),
      clock,
    });
    this.#subscription = host.events.on("messagesStored", () => this.#runner.kick());
    this.#runner.kick();
  }

  /** Stores messages, all or none; they are on disk when it resolves to their ids. */
  async enqueue(drafts: readonly Draft[]): Promise<readonly string[]> {
    for (const { taskId } of drafts) await this.startStored(taskId);
    return await this.#add(drafts);
  }

  /** Stores what tells of the start of a task, ahead of whatever the task says meanwhile. */
  enqueueStart(taskId: string, making: Promise<readonly Draft[]>): Promise<void> {
    const storing = making.then(async (drafts) => void await this.#add(drafts))
      .finally(() => this.#starts.delete(taskId));
    this.#starts.set(taskId, storing);
    return storing;
  }

  /** Resolves when what tells of the start of a task is stored, or has failed. */
  async startStored(taskId: string): Promise<void> {
    await this.#starts.get(taskId)?.catch(() => {}); // told of by who wanted it stored
  }

  /** Resolves when this has come to an end for every task that has started. */
  async startsStored(): Promise<void> {
    await Promise.allSettled(this.#starts.values());
  }

  async #add(drafts: readonly Draft[]): Promise<readonly string[]> {
    const messages = this.prepare(drafts);
    if (messages.length > 0) await this.#host.store.addToOutbox(messages);
    return messages.map(({ id }) => id);
  }

  /** Ends the pauses for which no other system has asked: somebody has mended what was wrong. */
  resume(): void {
    for (const [lane, { isAsked }] of this.#pauses) {
      if (!isAsked) this.#pauses.delete(lane);
    }
    this.#runner.kick();
  }

  /** Messages to be stored together with something else, every secret in them hidden. */
  prepare(drafts: readonly Draft[]): readonly NewMessage[] {
    const { newId, clock, secrets } = this.#host;
    return drafts.map(({ project, connection, kind, target, key, body, taskId }) => ({
      id: newId(),
      project,
      connection,
      kind,
      target,
      key,
      body: secrets.redactAll(body),
      taskId,
      now: clock.now(),
    }));
  }

  /** Waits a moment for answers under way; all other messages stay on disk for the next start. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#subscription[Symbol.dispose]();
    await this.#runner[Symbol.asyncDispose]();
    using _timer = this.#host.clock.after(STOP_WITHIN_MS, () => this.#stopping.abort());
    await Promise.all(this.#sending.values());
  }

  async #claim(): Promise<number | undefined> {
    const { clock, store } = this.#host;
    const now = clock.now();
    for (const [lane, { until }] of this.#pauses) {
      if (until <= now) this.#pauses.delete(lane);
    }
    const limit = MAX_LANES - this.#sending.size;
    if (limit <= 0) return undefined; // the next answer kicks again
    const busy = [...this.#sending.keys(), ...this.#pauses.keys()];
    const { messages, nextAt = Infinity } = await store.claimMessages({ limit, now, busy });
    for (const claimed of messages) this.#start(claimed);
    if (messages.length === limit) this.#runner.kick();
    const next = Math.min(nextAt, ...[...this.#pauses.values()].map(({ until }) => until));
    return next === Infinity ? undefined : next;
  }

  #start(claimed: ClaimedMessage): void {
    const { lane, message } = claimed;
    const sending = this.#sendOne(claimed)
      .catch((error) =>
        // It stays claimed on disk, with the note that it may have arrived.
        this.#host.log.error("the result of a message could not be stored", {
          message: message.id,
          error,
        })
      )
      .finally(() => {
        this.#sending.delete(lane);
        this.#runner.kick(); // the lane may have a next one
      });
    this.#sending.set(lane, sending);
  }

  async #sendOne(claimed: ClaimedMessage): Promise<void> {
    const { clock, store, secrets, log } = this.#host;
    const { message, lane } = claimed;
    using _known = secrets.runBegins(); // a token that is replaced meanwhile may be in a reason
    const kind = this.#findKind(message.kind);
    const tried = await this.#try(claimed, kind);
    const result = this.#resultOf(tried, claimed, kind);
    const pause = this.#pauseAfter(claimed, { tried, result, rates: kind?.rates ?? [] });
    if (pause.until > clock.now()) this.#pauses.set(lane, pause);
    const { signal } = this.#stopping;
    await retryWhileOverloaded(() => store.finishMessage(message.id, result, clock.now()), {
      clock,
      signal,
    });
    if (result.state === "sent") return;
    const level = result.state === "failed" ? "warn" : "info";
    log[level](`a message was not sent${result.state === "failed" ? "" : ", it is tried again"}`, {
      message: message.id,
      kind: message.kind,
      reason: result.reason,
    });
    if (result.state === "failed") this.#tell(claimed, result.reason);
  }

  async #try(claimed: ClaimedMessage, kind: MessageKind | undefined): Promise<SendResult> {
    if (kind === undefined) {
      const reason = `this version knows no messages of kind "${claimed.message.kind}"`;
      return { result: "refused", reason };
    }
    const { catalog, clock, slackApiUrl, markers, ownUsers } = this.#host;
    const { signal } = this.#stopping;
    const host: SendHost = { catalog, clock, slackApiUrl, markers, ownUsers, signal };
    try {
      return await sendOrFind(claimed, kind, host);
    } catch (error) {
      this.#host.log.error("a message failed inside svc", { message: claimed.message.id, error });
      return {
        result: "later",
        reason: `internal error: ${messageOf(error)}`,
        mayHaveArrived: true,
      };
    }
  }

  #resultOf(
    tried: SendResult,
    { message }: ClaimedMessage,
    kind: MessageKind | undefined,
  ): MessageResult {
    const { clock, secrets } = this.#host;
    if (tried.result === "sent") return { state: "sent", externalId: tried.externalId };
    const reason = secrets.redact(tried.reason);
    const certain = tried.mayHaveArrived !== true;
    if (tried.result === "refused") return { state: "failed", reason, certain };
    if (!certain && kind?.again === "never") {
      return { state: "failed", reason: `${reason}; ${UNKNOWN_FATE}`, certain };
    }
    if (this.#stopping.signal.aborted) return { state: "pending", reason, nextAt: 0, certain };
    const now = clock.now();
    const { tries, firstTriedAt = now } = message;
    const { afterSecs } = tried;
    const nextAt = nextTryAt({
      tries,
      firstTriedAt,
      now,
      ...defined({ afterSecs }),
    });
    return nextAt === undefined
      ? { state: "failed", reason: `given up after ${tries} tries: ${reason}`, certain }
      : { state: "pending", reason, nextAt, certain };
  }

  #pauseAfter(
    { lane }: ClaimedMessage,
    { tried, result, rates }: {
      readonly tried: SendResult;
      readonly result: MessageResult;
      readonly rates: readonly Rate[];
    },
  ): LanePause {
    const now = this.#host.clock.now();
    const later = tried.result === "later" ? tried : undefined;
    if (later?.alone === true) return { until: now, isAsked: false }; // nothing was sent
    const isAsked = later?.afterSecs !== undefined;
    const longest = isAsked ? Infinity : now + MAX_LANE_PAUSE_MS;
    const after = result.state === "pending" ? Math.min(result.nextAt, longest) : now;
    if (rates.length === 0) return { until: after, isAsked };
    const pace = this.#limiters.get(lane) ?? new RateLimiter();
    this.#limiters.set(lane, pace);
    const free = pace.sent(now, rates);
    return { until: Math.max(after, free), isAsked: isAsked || free >= after };
  }

  /** What answers no task is a notification, and telling of that would be another one. */
  #tell({ message }: ClaimedMessage, reason: string): void {
    const { id, kind, project, connection, taskId } = message;
    if (taskId === "") return;
    this.#host.events.publish("incidentHappened", {
      kind: "answer.failed",
      project,
      connection,
      reason: `a ${kind} message could not be sent: ${reason} (svc get outbox ${id})`,
      taskId,
    });
  }
}

/**
 * Sends a message, or where it may have arrived before, looks for it first. What is found is sent
 * once more, as an update of itself: it may be an earlier text of the same key.
 */
async function sendOrFind(
  claimed: ClaimedMessage,
  kind: MessageKind,
  host: SendHost,
): Promise<SendResult> {
  const isKnown = claimed.uncertainSince === undefined || claimed.previousId !== "" ||
    kind.again === "harmless";
  if (isKnown) return await kind.send(claimed, host);
  if (kind.find === undefined) {
    const reason = "the daemon ended while it was being sent";
    return { result: "later", reason, mayHaveArrived: true };
  }
  const settledAt = (claimed.uncertainSince ?? 0) + SETTLE_MS;
  const now = host.clock.now();
  if (now < settledAt && now >= (claimed.uncertainSince ?? 0)) {
    const reason = "it may have arrived: svc is about to look";
    const afterSecs = Math.ceil((settledAt - now) / 1000);
    return { result: "later", reason, afterSecs, mayHaveArrived: true, alone: true };
  }
  const found = await kind.find(claimed, host);
  switch (found.result) {
    case "absent":
      return await kind.send(claimed, host);
    case "found":
      return await kind.send({ ...claimed, previousId: found.externalId }, host);
    case "refused":
    case "later":
      return { ...found, mayHaveArrived: true }; // whatever kept it from being looked for
  }
}
