/**
 * The handlers of the operations on messages of the outbox.
 *
 * @module
 */

import type { Input, Output } from "../api/operations.ts";
import type { MessageStatus, OUTBOX_OPERATIONS, PatchPart } from "../api/outbox_operations.ts";
import type { Clock } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import type { MessageKind } from "../outbox/message_kind.ts";
import { findMessageKind } from "../outbox/messages.ts";
import type { Outbox } from "../outbox/outbox.ts";
import type { Catalog } from "../resources/catalog.ts";
import type { Events } from "../store/events.ts";
import type { OutboxMessage } from "../store/outbox_records.ts";
import type { OutboxStore } from "../store/outbox_store.ts";
import type { AuditLog } from "./records/audit_log.ts";
import { Changes } from "./records/changes.ts";
import { MESSAGES } from "./records/outbox_views.ts";
import { findRecord } from "./records/records.ts";
import type { Handlers } from "./server/server.ts";

/** The messages of a daemon, and what sends them. */
interface OutboxHost extends Pick<AuditLog, "audited"> {
  readonly store: OutboxStore;
  readonly events: Events;
  readonly clock: Clock;
  readonly outbox: Outbox;
  readonly catalog: Catalog;
}

/** Shortest time between two reads of a message. */
const SPACING_MS = 50;
/** Time after which a line is sent although nothing has changed, so that no proxy cuts the stream. */
const KEEPALIVE_MS = 15_000;

/** The handlers, by name of the operation. */
export function outboxHandlers(
  host: OutboxHost,
): Pick<Handlers, keyof typeof OUTBOX_OPERATIONS> {
  return {
    "outbox.wait": (input, _caller, signal) => waitForMessage(input, host, signal),
    "outbox.retry": (input) => retryMessage(input, host),
    "outbox.send": (input, caller) => {
      const targets = [`outbox/${input.id}`];
      const what = { operation: "outbox.send", targets, caller };
      return host.audited(what, () => sendHeld(input, host));
    },
    "outbox.diff": (input, _caller, signal) => readPatch(input, host, signal),
    "outbox.drop": (input) => dropMessage(input, host),
  };
}

/**
 * Yields the status of a message, until it is over or waits for a person.
 *
 * @throws {AppError} `not_found`.
 */
async function* waitForMessage(
  { id }: Input<"outbox.wait">,
  { store, events, clock }: OutboxHost,
  signal: AbortSignal,
): AsyncGenerator<MessageStatus> {
  const isWanted = (changed: string) => changed === id;
  const what = { events, record: "outbox", spacingMs: SPACING_MS, clock, isWanted } as const;
  using changes = Changes.ofRecords(what);
  while (!signal.aborted) {
    const message = await findRecord(MESSAGES, id, store);
    yield statusOf(message);
    if (message.state !== "pending") return;
    await changes.next(KEEPALIVE_MS, signal);
  }
}

/**
 * Makes a message due now. If no program can see whether it has arrived, the caller has to have
 * looked. A message that was stored without a Connection goes through the Connection that exists
 * now.
 *
 * @throws {AppError} `not_found`; `conflict` when it was sent or cannot be; `refused` while there
 * is no way.
 */
async function retryMessage(
  { id }: Input<"outbox.retry">,
  { store, clock, outbox, catalog }: OutboxHost,
): Promise<Output<"outbox.retry">> {
  const message = await findRecord(MESSAGES, id, store);
  const kind = findMessageKind(message.kind);
  if (message.state !== "sent") await refuseRetry(message, kind, store);
  const forget = kind?.again === "never";
  const connection = message.connection === "" && message.state !== "sent"
    ? kind?.way(message, catalog) ?? ""
    : "";
  const now = clock.now();
  const status = changed(
    id,
    await store.retryMessage(id, {
      now,
      forget,
      ...(connection === "" ? {} : { through: { ...message, connection } }),
    }),
  );
  outbox.resume();
  return status;
}

/** @throws {AppError} `conflict` when a message is held, or what it would send was deleted. */
async function refuseRetry(
  message: OutboxMessage,
  kind: MessageKind | undefined,
  store: OutboxStore,
): Promise<void> {
  const { id, state, taskId } = message;
  if (state === "held") {
    throw new AppError("conflict", `Message outbox/${id} is held: svc outbox send ${id} sends it`);
  }
  if (kind?.needsPack?.(message) !== true) return;
  if (await store.readContent(id, "pack", 0) !== undefined) return;
  throw new AppError(
    "conflict",
    `What message outbox/${id} would send was deleted when it was ${state}: run its task again, ` +
      `with "svc task retry ${taskId}"`,
  );
}

/**
 * Has a held message sent, as it is.
 *
 * @throws {AppError} `not_found`; `conflict` when it is not held.
 */
async function sendHeld(
  { id }: Input<"outbox.send">,
  { store, clock }: OutboxHost,
): Promise<Output<"outbox.send">> {
  const sent = await store.releaseMessage(id, clock.now());
  if (sent !== undefined) return statusOf(sent);
  const { state, reason } = await findRecord(MESSAGES, id, store);
  const why = reason === "" ? state : `${state} (${reason})`;
  throw new AppError("conflict", `Message outbox/${id} is not held: it is ${why}`);
}

/** Most characters of a part of a patch. */
const PART_LENGTH = 64 * 1024;

/**
 * Yields the patch of a message.
 *
 * @throws {AppError} `not_found`; `conflict` when it has none, or none any more.
 */
async function* readPatch(
  { id }: Input<"outbox.diff">,
  { store }: OutboxHost,
  signal: AbortSignal,
): AsyncGenerator<PatchPart> {
  const { kind, state } = await findRecord(MESSAGES, id, store);
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  for (let piece = 0; !signal.aborted; piece++) {
    const bytes = await store.readContent(id, "patch", piece);
    if (bytes === undefined && piece === 0) {
      const isOver = state === "sent" || state === "dropped";
      throw new AppError(
        "conflict",
        isOver
          ? `The change of outbox/${id} was deleted when it was ${state}`
          : `Message outbox/${id} (${kind}) changes no files`,
      );
    }
    const text = decoder.decode(bytes, { stream: bytes !== undefined });
    for (let at = 0; at < text.length; at += PART_LENGTH) {
      yield { text: text.slice(at, at + PART_LENGTH) };
    }
    if (bytes === undefined) return;
  }
}

/**
 * Drops a message, which still arrives if it is on its way.
 *
 * @throws {AppError} `not_found`; `conflict` when it was sent.
 */
async function dropMessage(
  { id }: Input<"outbox.drop">,
  { store, clock }: OutboxHost,
): Promise<Output<"outbox.drop">> {
  await findRecord(MESSAGES, id, store);
  return changed(id, await store.dropMessage(id, { reason: "dropped by hand", now: clock.now() }));
}

function changed(id: string, message: OutboxMessage | undefined): MessageStatus {
  if (message !== undefined) return statusOf(message);
  throw new AppError("conflict", `Message outbox/${id} was sent already`);
}

function statusOf({ id, state, reason, externalId }: OutboxMessage): MessageStatus {
  return { id, state, reason, external_id: externalId === "" ? null : externalId };
}
