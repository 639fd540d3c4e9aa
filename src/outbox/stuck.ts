/**
 * Messages that were given up because there was no way to send them, and that have none now.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import type { Catalog } from "../resources/catalog.ts";
import type { OutboxStore } from "../store/outbox_store.ts";
import { findMessageKind } from "./messages.ts";

/** How many of the newest given-up messages are checked. */
const MOST_CHECKED = 200;

/** Given-up messages with the same reason. */
export interface Stuck {
  /** The missing thing and its remedy, a sentence without a full stop. */
  readonly reason: string;
  /** How many of the messages that were checked. */
  readonly count: number;
  /** Id of the newest message. */
  readonly newest: string;
}

/** The stuck messages, grouped by their reason. */
export async function findStuck(
  { store, catalog }: {
    readonly store: Pick<OutboxStore, "listMessages">;
    readonly catalog: Catalog;
  },
): Promise<readonly Stuck[]> {
  const failed = await store.listMessages({ state: "failed", limit: MOST_CHECKED });
  const stuck = new Map<string, Stuck>();
  for (const message of failed) {
    const reason = whyNoWay(() => findMessageKind(message.kind)?.way(message, catalog));
    if (reason === undefined) continue;
    const known = stuck.get(reason) ?? { reason, count: 0, newest: message.id };
    stuck.set(reason, { ...known, count: known.count + 1 });
  }
  return [...stuck.values()];
}

function whyNoWay(find: () => unknown): string | undefined {
  try {
    find();
    return undefined;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return error.code === "refused" ? error.message : undefined;
  }
}
