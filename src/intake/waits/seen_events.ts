/**
 * The events of stored deliveries, as those who wait for them see them: as they arrived, so that no
 * plugin runs twice.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import type {
  Delivery,
  DeliveryOutcome,
  EventOutcome,
  StoredDelivery,
} from "../../store/delivery_records.ts";
import type { TriggerEvent } from "../admission/admit.ts";
import type { ActiveTrigger } from "../admission/triggers.ts";
import { firedEvent } from "../pipeline/fire.ts";
import { storedEvents } from "../pipeline/pipeline.ts";
import { contextOf, storedRequest } from "../pipeline/stored_request.ts";

/** An event of a stored delivery. */
export interface SeenEvent {
  readonly delivery: Delivery;
  /** The delivery with its content: triggers that got the same request share it. */
  readonly contentId: string;
  readonly event: TriggerEvent;
  readonly outcome: DeliveryOutcome;
  /** The task that the event started, or joined before it began; empty if there is none. */
  readonly startedId: string;
}

/**
 * The outcomes of deliveries that may have an event which ends a wait. One that is a duplicate as a
 * whole may have another event that is none.
 */
export const WAITED_OUTCOMES: readonly DeliveryOutcome[] = ["accepted", "skipped", "duplicate"];

/** As {@linkcode WAITED_OUTCOMES}, for those who look at what the filter of a trigger leaves out, too. */
export const READ_OUTCOMES: readonly DeliveryOutcome[] = [...WAITED_OUTCOMES, "filtered"];

/** Whether a delivery may have such an event, by its record alone. */
export function mayHaveEvents(
  { outcome, via, detail: { why, events, follows } }: Delivery,
  outcomes: readonly DeliveryOutcome[],
): boolean {
  if (via === "chat" || why !== undefined || follows !== undefined || !outcomes.includes(outcome)) {
    return false;
  }
  return outcome !== "duplicate" || events !== undefined;
}

/**
 * The events of a delivery with such outcomes; none of one whose content is gone, or that its trigger
 * cannot read any more.
 */
export function eventsSeen(
  stored: StoredDelivery,
  trigger: ActiveTrigger,
  outcomes: readonly DeliveryOutcome[],
): readonly SeenEvent[] {
  const { delivery, content, contentOf: contentId = delivery.id } = stored;
  if (content === undefined || !mayHaveEvents(delivery, outcomes)) return [];
  const { isMessage, events = [{ ...delivery, ...defined({ isMessage }) }] } = delivery.detail;
  try {
    const all = delivery.via === "internal"
      ? [firedEvent(stored, trigger)]
      : storedEvents(storedRequest(stored, contextOf(delivery)), trigger);
    return all.flatMap((event, index) => {
      const known = events[index];
      if (known === undefined || !outcomes.includes(known.outcome)) return [];
      if ("why" in known && known.why !== undefined) return [];
      const { outcome } = known;
      return [{ delivery, contentId, event, outcome, startedId: startedBy(known) }];
    });
  } catch (error) {
    if (error instanceof AppError) return []; // the trigger reads its requests in another way by now
    throw error;
  }
}

/** The task that an event started or joined. To a task that has it as a message, or keeps it out, it is new. */
function startedBy(
  { outcome, taskId = "", isMessage }: Partial<Pick<EventOutcome, "taskId" | "isMessage">> & {
    readonly outcome: DeliveryOutcome;
  },
): string {
  return outcome === "accepted" && isMessage !== true ? taskId : "";
}
