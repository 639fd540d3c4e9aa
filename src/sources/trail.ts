/**
 * What is known of one request so far: grows from stage to stage, so that a request that is refused
 * half-way still leaves its record (contract 3).
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import type { ActiveTrigger } from "../tasks/triggers.ts";
import type { Delivery, DeliveryOutcome } from "../store/store.ts";

/** The course of one request. */
export class Trail {
  /** Names the request to the sender, and the delivery once there is one. */
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
  /** Address of the peer. */
  readonly remote: string;
  /** Trigger it was for; absent while it is not known to exist. */
  trigger: ActiveTrigger | undefined;
  /** Key that matched. */
  secretKey = "";
  /** Size of the body. */
  bodyBytes = 0;
  readonly #clock: Clock;

  /** Starts now. */
  constructor(start: { id: string; clock: Clock; remote: string }) {
    this.id = start.id;
    this.remote = start.remote;
    this.#clock = start.clock;
    this.receivedAt = start.clock.now();
  }

  /** The record of what became of the request; the trigger has to be known. */
  toDelivery(
    end: { outcome: DeliveryOutcome; status: number; reason: string; taskId?: string },
  ): Delivery {
    if (this.trigger === undefined) throw new Error("A delivery record needs its trigger");
    const { project, name, spec } = this.trigger.resource;
    return {
      id: this.id,
      project,
      trigger: name,
      source: spec.event.source,
      receivedAt: this.receivedAt,
      outcome: end.outcome,
      reason: end.reason,
      status: end.status,
      remote: this.remote,
      secretKey: this.secretKey,
      taskId: end.taskId ?? "",
      bodyBytes: this.bodyBytes,
      durationMs: this.#clock.now() - this.receivedAt,
    };
  }
}

/** A request as it arrived; everything after this works on these exact bytes. */
export interface ReceivedDelivery {
  /** The body. */
  readonly body: Uint8Array<ArrayBuffer>;
  /** Headers, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** What is known so far. */
  readonly trail: Trail;
}
