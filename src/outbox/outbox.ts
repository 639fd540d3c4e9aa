/**
 * The sender of the outbox: claims messages that are due, sends them and records the results.
 * Messages of one lane go one after the other, at the rate that the other system allows. A message
 * that may have arrived is searched for before it is sent again; if its kind cannot, it is given up.
 *
 * @module
 */

import type { Core } from "../base/core.ts";
import { defined } from "../base/defined.ts";
import { AppError, messageOf } from "../base/errors.ts";
import type { NewId } from "../base/ids.ts";
import { retryWhileOverloaded } from "../base/retry_while_overloaded.ts";
import { SerialRunner } from "../base/serial_runner.ts";
import type { KnownSecrets } from "../secrets/known_secrets.ts";
import type { Events } from "../store/events.ts";
import type {
  ClaimedMessage,
  ContentName,
  LimitReached,
  MessageResult,
  NewMessage,
} from "../store/outbox_records.ts";
import type { OutboxQueue, OutboxRecorder, OutboxStore } from "../store/outbox_store.ts";
import { forgeOfKind } from "./forge_access.ts";
import type { Draft, MessageKind, Rate, SendHost, SendResult } from "./message_kind.ts";
import { findMessageKind } from "./messages.ts";
import { nextTryAt, RateLimiter } from "./send_times.ts";

/** The state of the daemon that an {@linkcode Outbox} uses, and its kinds of messages. */
export interface OutboxHost extends Core, Omit<SendHost, "signal" | "readContent"> {
  readonly store: OutboxRecorder & OutboxQueue & Pick<OutboxStore, "readContent">;
  /** Hides secrets in bodies and reasons before they are stored. */
  readonly secrets: KnownSecrets;
  readonly newId: NewId;
  readonly events: Events;
  /** Finds a kind of messages; those of `messages.ts` if absent. */
  readonly findKind?: (name: string) => MessageKind | undefined;
}

/** Lanes that send at the same time. */
const MAX_LANES = 20;
/** How long a call under way may delay the end of the daemon. */
const STOP_WITHIN_MS = 2000;

/** How long another system may still work on a request after its connection is gone. */
const SETTLE_MS = 10_000;
/** Longest pause of a lane for which the other system did not ask. */
const MAX_LANE_PAUSE_MS = 60_000;

/** Ends the reason of a message that may have arrived and cannot be searched for. */
const UNKNOWN_FATE = "it may have arrived, so look there; svc outbox retry sends it again";

/** A time in which a lane sends nothing. */
interface LanePause {
  /** Its end, in milliseconds since the epoch. */
  readonly until: number;
  /** Whether the other system asks for it, by an answer or by its limits. */
  readonly isAsked: boolean;
}

/** Stores messages, and sends them until it is disposed. */
export class Outbox implements AsyncDisposable {
  readonly #host: OutboxHost;
  readonly #findKind: (name: string) => MessageKind | undefined;
  readonly #runner: SerialRunner;
  readonly #subscription: Disposable;
  readonly #stopping = new AbortController();
  readonly #sending = new Map<string, Promise<void>>();
  readonly #pauses = new Map<string, LanePause>();
  readonly #limiters = new Map<string, RateLimiter>();
  /** By the id of a task, the messages about its start that are not stored yet. */
  readonly #starts = new Map<string, Promise<void>>();

  /** Continues with the messages that the previous run of the daemon left. */
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

  /**
   * Stores messages, all or none; resolves to their ids once they are on disk.
   *
   * @throws {AppError} `refused` when one would pass a limit.
   */
  async enqueue(drafts: readonly Draft[]): Promise<readonly string[]> {
    for (const { taskId } of drafts) await this.startStored(taskId);
    return await this.#add(drafts);
  }

  /** Stores the messages about the start of a task, ahead of those that the task itself sends. */
  enqueueStart(taskId: string, making: Promise<readonly Draft[]>): Promise<void> {
    const storing = making.then(async (drafts) => void await this.#add(drafts))
      .finally(() => this.#starts.delete(taskId));
    this.#starts.set(taskId, storing);
    return storing;
  }

  /** Resolves when the messages about the start of a task are stored, or have failed. */
  async startStored(taskId: string): Promise<void> {
    await this.#starts.get(taskId)?.catch(() => {}); // the caller of enqueueStart reports it
  }

  /** Resolves when {@linkcode startStored} does for every task that has started. */
  async startsStored(): Promise<void> {
    await Promise.allSettled(this.#starts.values());
  }

  async #add(drafts: readonly Draft[]): Promise<readonly string[]> {
    const messages = this.prepare(drafts);
    const reached = messages.length === 0
      ? undefined
      : await this.#host.store.addToOutbox(messages);
    if (reached !== undefined) throw new AppError("refused", describeLimit(reached, messages));
    return messages.map(({ id }) => id);
  }

  /** Ends the pauses for which no other system has asked, because their cause may be gone. */
  resume(): void {
    for (const [lane, { isAsked }] of this.#pauses) {
      if (!isAsked) this.#pauses.delete(lane);
    }
    this.#runner.kick();
  }

  /** Messages for a transaction of the caller, with every secret in them hidden. */
  prepare(drafts: readonly Draft[]): readonly NewMessage[] {
    const { newId, clock, secrets } = this.#host;
    return drafts.map(({ counted, ...draft }) => {
      const id = newId();
      return {
        ...draft,
        id,
        body: secrets.redactAll(draft.body),
        ...defined({ counted: counted && { ...counted, unit: counted.unit || id } }),
        now: clock.now(),
      };
    });
  }

  /** Waits a moment for calls under way; all other messages stay on disk for the next start. */
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
    const next = Math.min(nextAt, ...this.#pauses.values().map(({ until }) => until));
    return next === Infinity ? undefined : next;
  }

  #start(claimed: ClaimedMessage): void {
    const { lane, message } = claimed;
    const sending = this.#sendOne(claimed)
      .catch((error) =>
        // The message stays claimed on disk, with the note that it may have arrived.
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
    const attempt = await this.#attempt(claimed, kind);
    const result = this.#resultOf(attempt, claimed, kind);
    const pause = this.#pauseAfter(claimed, { attempt, result, rates: kind?.rates ?? [] });
    if (pause.until > clock.now()) this.#pauses.set(lane, pause);
    const { signal } = this.#stopping;
    await retryWhileOverloaded(() => store.finishMessage(message.id, result, clock.now()), {
      clock,
      signal,
    });
    if (result.state === "sent") return;
    if (result.state === "dropped") {
      const { id, kind } = message;
      log.info("a message was dropped", { message: id, kind, reason: result.reason });
      return;
    }
    const level = result.state === "failed" ? "warn" : "info";
    log[level](`a message was not sent${result.state === "failed" ? "" : ", it is tried again"}`, {
      message: message.id,
      kind: message.kind,
      reason: result.reason,
    });
    if (result.state === "failed") this.#publishFailure(claimed, result.reason);
  }

  async #attempt(claimed: ClaimedMessage, kind: MessageKind | undefined): Promise<SendResult> {
    if (kind === undefined) {
      const reason = `this version knows no messages of kind "${claimed.message.kind}"`;
      return { result: "refused", reason };
    }
    const { signal } = this.#stopping;
    const readContent = (id: string, name: ContentName) => piecesOf(id, name, this.#host.store);
    const host: SendHost = { ...this.#host, readContent, signal };
    try {
      return await sendOrFind(claimed, kind, host);
    } catch (error) {
      this.#host.log.error("a message failed inside svc", { message: claimed.message.id, error });
      const reason = `internal error: ${messageOf(error)}`;
      return { result: "later", reason, mayHaveArrived: true };
    }
  }

  #resultOf(
    attempt: SendResult,
    { message }: ClaimedMessage,
    kind: MessageKind | undefined,
  ): MessageResult {
    const { clock, secrets } = this.#host;
    if (attempt.result === "sent") return { state: "sent", externalId: attempt.externalId };
    const reason = secrets.redact(attempt.reason);
    if (attempt.result === "dropped") return { state: "dropped", reason, certain: true };
    const certain = attempt.mayHaveArrived !== true;
    if (attempt.result === "refused") return { state: "failed", reason, certain };
    if (!certain && kind?.again === "never") {
      return { state: "failed", reason: `${reason}; ${UNKNOWN_FATE}`, certain };
    }
    if (this.#stopping.signal.aborted) return { state: "pending", reason, nextAt: 0, certain };
    const now = clock.now();
    const { tries, firstTriedAt = now } = message;
    const { afterSecs } = attempt;
    const nextAt = nextTryAt({ tries, firstTriedAt, now, ...defined({ afterSecs }) });
    return nextAt === undefined
      ? { state: "failed", reason: `given up after ${tries} tries: ${reason}`, certain }
      : { state: "pending", reason, nextAt, certain };
  }

  #pauseAfter(
    { lane }: ClaimedMessage,
    { attempt, result, rates }: {
      readonly attempt: SendResult;
      readonly result: MessageResult;
      readonly rates: readonly Rate[];
    },
  ): LanePause {
    const now = this.#host.clock.now();
    const later = attempt.result === "later" ? attempt : undefined;
    if (later?.alone === true) return { until: now, isAsked: false }; // nothing was sent
    const isAsked = later?.afterSecs !== undefined;
    const longest = isAsked ? Infinity : now + MAX_LANE_PAUSE_MS;
    const after = result.state === "pending" ? Math.min(result.nextAt, longest) : now;
    if (rates.length === 0) return { until: after, isAsked };
    const limiter = this.#limiters.get(lane) ?? new RateLimiter();
    this.#limiters.set(lane, limiter);
    let free = now;
    for (let left = attempt.writes ?? 1; left > 0; left--) free = limiter.sent(now, rates);
    return { until: Math.max(after, free), isAsked: isAsked || free >= after };
  }

  /** A message without a task is a notification: its failure must not cause another one. */
  #publishFailure({ message }: ClaimedMessage, reason: string): void {
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

/** A long part of a message, read piece by piece. */
async function* piecesOf(
  id: string,
  name: ContentName,
  store: Pick<OutboxStore, "readContent">,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  for (let piece = 0;; piece++) {
    const bytes = await store.readContent(id, name, piece);
    if (bytes === undefined) return;
    yield bytes;
  }
}

/** What a workflow allows of an output, and what this task has used of it, in one sentence. */
function describeLimit(
  { output, by, most, units }: LimitReached,
  messages: readonly NewMessage[],
): string {
  const { kind = "" } = messages.find(({ counted }) => counted?.output === output) ?? {};
  const rule = `may.${forgeOfKind(kind)}.${output}`;
  if (by === "rounds") {
    return `${rule} allows ${most} in a row (rounds), until a person has a say there`;
  }
  const [key] = units.flatMap((unit) => KEY_IN_UNIT[output]?.exec(unit)?.[1] ?? []);
  const remedy = key === undefined ? "" : `; renew one with --key ${key}`;
  return `${rule} allows ${most} in a task, and this one has used: ${units.join(", ")}${remedy}`;
}

/**
 * The key with which a unit was made, for outputs that a key renews. That of an issue stands behind its
 * workflow and what it is about; one that was made without a key has none.
 */
const KEY_IN_UNIT: Readonly<Record<string, RegExp>> = {
  comment: /^(.+)$/,
  pull: /^(.+)$/,
  review: /^(.+)$/,
  issue: /^[^/]+\/[^/]+\/(.+)$/,
};

/**
 * Sends a message. If it may have arrived before, searches for it first; what is found is updated,
 * because it may be an earlier text of the same key.
 */
async function sendOrFind(
  claimed: ClaimedMessage,
  kind: MessageKind,
  host: SendHost,
): Promise<SendResult> {
  const isKnown = claimed.uncertainSince === undefined || kind.again === "harmless" ||
    (claimed.previousId !== "" && kind.isReplaced !== true);
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
      return { ...found, mayHaveArrived: true }; // the search failed, so nothing is known
  }
}
