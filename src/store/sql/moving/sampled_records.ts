/**
 * A task as both databases show it, to compare them record by record.
 *
 * @module
 */

import { sha256Hex } from "../../../base/bytes.ts";
import type { StoreCalls } from "../../store_calls.ts";

/** The methods that show a task. */
export const SHOWING = [
  "findTasks",
  "findPlan",
  "listInbox",
  "listOutputs",
  "readDelivery",
] as const;

/** The part of a store that shows tasks. */
export type ShowingStore = StoreCalls<(typeof SHOWING)[number]>;

/** Only PostgreSQL tells of nodes. */
const OF_NODES = new Set(["node", "nodeName", "onlyNode"]);

/** Everything about a task as one text: the same where a store shows the same. */
export async function showTask(store: ShowingStore, id: string): Promise<string> {
  const [task] = await store.findTasks(id);
  const delivery = task === undefined ? undefined : await store.readDelivery(task.deliveryId);
  return JSON.stringify({
    task,
    delivery,
    plan: await store.findPlan(id),
    inbox: await store.listInbox(id),
    outputs: [...await store.listOutputs(id)],
  }, comparable);
}

function comparable(name: string, value: unknown): unknown {
  if (OF_NODES.has(name)) return undefined;
  if (value instanceof Uint8Array) return sha256Hex(value);
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => a < b ? -1 : 1));
}
