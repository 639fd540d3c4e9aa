/**
 * Reports a message that a command has put into the outbox, and waits until it is sent.
 *
 * @module
 */

import type { Client } from "../api/client.ts";
import type { MessageStatus } from "../api/outbox_operations.ts";
import { AppError } from "../base/errors.ts";
import type { CONNECTION, Context, OUTPUT_TEXT_JSON } from "./command.ts";
import { type OptionDefinition } from "./option.ts";
import { interruptible } from "./interrupt.ts";
import { jsonText } from "./json_text.ts";

/** The option that waits until the message is sent. */
export const WAIT = {
  flags: "--wait",
  help: "wait until it was sent, or is held for a person; exit 1 when it is given up",
} as const satisfies OptionDefinition;

/** The answer of an operation that has stored a message. */
export interface QueuedMessage extends Readonly<Record<string, unknown>> {
  /** Id in the outbox. */
  readonly outbox_id: string;
  /** Ids of all, where there are several. */
  readonly outbox_ids?: readonly string[];
  /** Why it waits for a person; `null` or absent where it does not. */
  readonly held_for?: string | null;
}

/** How a command reports its message. */
export interface MessageReport<Queued extends QueuedMessage> {
  /** Asks the daemon to store it. */
  readonly queue: (client: Client) => Promise<Queued>;
  /** What stands behind the id of a message that is queued; nothing if absent. */
  readonly queued?: (queued: Queued) => string;
  /** The text that is printed once it was sent, with the id that the other system gave it. */
  readonly sent: (queued: Queued, externalId: string | null) => string;
  /** Name under which JSON shows the id that the other system gave it, or the fields made of it. */
  readonly idField: string | ((externalId: string | null) => Readonly<Record<string, unknown>>);
}

/**
 * Stores a message and prints that it is queued; with `--wait` waits for it, and prints that it was
 * sent.
 *
 * @throws {AppError} `refused` when it is given up; `unreachable` when the daemon ends meanwhile.
 */
export async function reportMessage<Queued extends QueuedMessage>(
  context: Context<[typeof WAIT, typeof OUTPUT_TEXT_JSON, ...typeof CONNECTION]>,
  { queue, queued: describe, sent, idField }: MessageReport<Queued>,
): Promise<number> {
  const { io } = context;
  const json = context.options.output === "json";
  if (!context.options.wait) {
    using client = context.client();
    const queued = await queue(client);
    io.out(json ? jsonText(queued) : queuedText(queued, describe?.(queued)));
    return 0;
  }
  // Around the whole: where the daemon runs the command for a script it must refuse to wait before
  // anything is stored, because the program then does all of it once more.
  return await interruptible(io, async (signal) => {
    using client = context.client();
    const queued = await queue(client);
    let externalId: string | null = null;
    for (const id of idsOf(queued)) {
      const over = await untilOver(client, id, signal);
      if (over.state === "held") {
        const held = { ...queued, state: over.state, held_for: over.reason };
        io.out(json ? jsonText(held) : queuedText(held));
        return 0;
      }
      externalId = over.external_id;
    }
    const ids = typeof idField === "string" ? { [idField]: externalId } : idField(externalId);
    const answer = { ...queued, state: "sent", ...ids };
    io.out(json ? jsonText(answer) : `${sent(queued, externalId)}\n`);
    return 0;
  });
}

/** A line for each message, with what it is; of one that is held, what sends it. */
function queuedText(queued: QueuedMessage, what?: string): string {
  const { held_for: reason } = queued;
  const more = what === undefined ? "" : `: ${what}`;
  const lines = idsOf(queued).map((id) =>
    typeof reason === "string" ? heldText(id, reason) : `queued as outbox/${id}${more}`
  );
  return lines.map((line) => `${line}\n`).join("");
}

/** What a command says of a message that waits for a person. */
export function heldText(id: string, reason: string): string {
  return `queued as outbox/${id}: held, because ${reason}; svc outbox send ${id}`;
}

function idsOf({ outbox_id, outbox_ids }: QueuedMessage): readonly string[] {
  return outbox_ids ?? [outbox_id];
}

/** Waits until a message was sent or is held. */
async function untilOver(client: Client, id: string, signal: AbortSignal): Promise<MessageStatus> {
  for await (const status of client.stream("outbox.wait", { id }, signal)) {
    if (status.state === "sent" || status.state === "held") return status;
    if (status.state !== "pending") throw new AppError("refused", status.reason);
  }
  throw new AppError(
    "unreachable",
    `The daemon is stopping: outbox/${id} is sent when it runs again`,
  );
}
