/**
 * `task.waits`: the events that a task waits for, and which of the newest came near. It reads a bounded number
 * of deliveries, when somebody asks.
 *
 * @module
 */

import type { Input, Output } from "../../api/operations.ts";
import { rfc3339 } from "../../base/clock.ts";
import { toAppError } from "../../base/errors.ts";
import type { ActiveTrigger, Triggers } from "../../intake/admission/triggers.ts";
import type { ExplainingHost } from "../../intake/tools/explain.ts";
import { nearMisses } from "../../intake/waits/missed_waits.ts";
import type { KnownSecrets } from "../../secrets/known_secrets.ts";
import type { DeliveryStore } from "../../store/delivery_store.ts";
import type { TaskStore } from "../../store/task_store.ts";
import type { WaitStore } from "../../store/wait_store.ts";
import { findTask } from "../records/records.ts";

/** The waits of a daemon, and the triggers and deliveries that may end them. */
export interface WaitsHost extends ExplainingHost {
  readonly store:
    & TaskStore
    & Pick<WaitStore, "listWaits">
    & Pick<DeliveryStore, "listDeliveries" | "readDeliveries">;
  readonly triggers: Triggers;
  readonly secrets: KnownSecrets;
}

/** Most parts of waits of one task that are looked at. */
const MOST = 20;

/**
 * The open waits of a task for events.
 *
 * @throws {AppError} `not_found`.
 */
export async function taskWaits(
  input: Input<"task.waits">,
  host: WaitsHost,
): Promise<Output<"task.waits">> {
  const { id } = await findTask(input.id, host.store);
  const parts = await host.store.listWaits({ taskId: id, kind: "event", limit: MOST });
  const waits: Output<"task.waits">["waits"][number][] = [];
  for (const { step, project, key, ...part } of parts) {
    if (key === undefined) continue;
    const { trigger } = key;
    const active = findTrigger({ project, trigger }, host.triggers);
    const near = await nearMisses({ ...part, project, key }, active, host);
    if (near === undefined) continue;
    waits.push({
      step,
      trigger,
      trigger_deleted: host.catalog.find("Trigger", project, trigger) === undefined,
      looked: near.looked ?? 0,
      misses: near.misses.map(({ deliveryId, receivedAt, why }) => ({
        delivery_id: deliveryId,
        received_at: rfc3339(receivedAt),
        why,
      })),
    });
  }
  return host.secrets.redactAll({ waits });
}

/** The trigger as it is applied now; `undefined` if it is gone, or its expressions do not compile. */
function findTrigger(
  name: { readonly project: string; readonly trigger: string },
  triggers: Triggers,
): ActiveTrigger | undefined {
  try {
    return triggers.find(name);
  } catch (error) {
    if (toAppError(error).code === "invalid") return undefined;
    throw error;
  }
}
