/**
 * What was given up because there was no way to send it, and still is none: mended is what has one.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import type { Catalog } from "../resources/catalog.ts";
import type { OutboxStore } from "../store/outbox_store.ts";
import { findMessageKind } from "./messages.ts";

/** Messages that were given up among which is looked. */
const LOOKED_AT = 200;

/** Messages that one thing keeps back. */
export interface Stuck {
  /** What is missing and what to do, a sentence without a full stop. */
  readonly reason: string;
  /** How many of the newest that were given up. */
  readonly count: number;
  /** Id of the newest. */
  readonly newest: string;
}

/** By what keeps them back, the messages that could not be sent and cannot be now. */
export async function findStuck(
  { store, catalog }: {
    readonly store: Pick<OutboxStore, "listMessages">;
    readonly catalog: Catalog;
  },
): Promise<readonly Stuck[]> {
  const failed = await store.listMessages({ state: "failed", limit: LOOKED_AT });
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
