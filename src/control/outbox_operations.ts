/**
 * The handlers of the operations on messages of the outbox.
 *
 * @module
 */

import type { Input, Output } from "../api/operations.ts";
import type { MessageStatus, OUTBOX_OPERATIONS } from "../api/outbox_operations.ts";
import type { Clock } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import { findMessageKind } from "../outbox/messages.ts";
import type { Outbox } from "../outbox/outbox.ts";
import type { Catalog } from "../resources/catalog.ts";
import type { Events } from "../store/events.ts";
import type { OutboxMessage } from "../store/outbox_records.ts";
import type { OutboxStore } from "../store/outbox_store.ts";
import { Changes } from "./records/changes.ts";
import { MESSAGES } from "./records/outbox_views.ts";
import { findRecord } from "./records/records.ts";
import type { Handlers } from "./server/server.ts";

/** The messages of a daemon, and what sends them. */
interface OutboxHost {
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
    "outbox.drop": (input) => dropMessage(input, host),
  };
}

/**
 * Yields the status of a message, until it is over.
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
