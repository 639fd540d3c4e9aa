/**
 * What is known of one request so far: grows from stage to stage, so that a request that is refused
 * half-way still leaves its record.
 *
 * @module
 */

import type { WallClock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import type { NewId } from "../../base/ids.ts";
import { eventOf } from "../../platforms/event_header.ts";
import type { ActiveTrigger } from "../admission/triggers.ts";
import type { Coverage } from "../../signatures/coverage.ts";
import type { VerifyFailure } from "../../signatures/scheme.ts";
import type {
  Delivery,
  DeliveryDetail,
  DeliveryFacts,
  DeliveryOutcome,
  DeliveryVia,
} from "../../store/delivery_records.ts";
import { recordedNames } from "./recorded_names.ts";

const NONE: readonly ActiveTrigger[] = [];
/** Most characters of the reason of a refusal, which may quote what came. */
const MAX_REASON = 2000;

/** Most characters of the name of an event. */
const MAX_EVENT = 100;

/** The facts about one request, set by the stages as they learn them. */
export class DeliveryContext {
  /** Id of the request in answers, and of the delivery once it is stored. */
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
  readonly remote: string;
  /** The trigger of the path, the first of its endpoint; absent until it was found. */
  trigger: ActiveTrigger | undefined;
  /** The other triggers that get the request; each has a record of its own. */
  others: readonly ActiveTrigger[] = NONE;
  /** Version of the stored resources by which they were found; absent where any will do. */
  resourceVersion: number | undefined;
  secret: { readonly store: string; readonly key: string } | undefined;
  /** Why its signature was refused, where it was. */
  failure: VerifyFailure | undefined;
  /** Whether it was accepted without a signature (`allowUnsigned`). */
  unsigned = false;
  /** The Connection over which the platform gave it, where no signature was checked. */
  connection: string | undefined;
  /** Size of the body. */
  bodyBytes = 0;
  /** Names of the headers that came. */
  headerNames: readonly string[] = [];
  /** The event that a header names; empty where none does. */
  event = "";
  /** What its signature covers; absent where nobody asks. */
  signed: Coverage | undefined;
  /** Delivery that is sent again. */
  redeliveryOf: string | undefined;
  /** Method of the request, where it is an unsigned handshake. */
  handshakeMethod: string | undefined;
  /** Endpoint it came through; the source of its trigger when absent. */
  readonly source: string | undefined;
  readonly via: DeliveryVia;
  readonly #clock: WallClock;
  readonly #stages: Record<string, number> = {};
  /** How many records the request has. */
  #records = 1;

  /** The context of a request that arrives now, at a webhook unless `via` says otherwise. */
  constructor(
    start: {
      id: string;
      clock: WallClock;
      remote: string;
      source?: string;
      via?: DeliveryVia;
      receivedAt?: number;
    },
  ) {
    this.id = start.id;
    this.remote = start.remote;
    this.source = start.source;
    this.via = start.via ?? "http";
    this.#clock = start.clock;
    this.receivedAt = start.receivedAt ?? start.clock.now();
  }

  /** The request as each of its triggers gets it: this one, and one with an id of its own for each other. */
  each(newId: NewId): readonly [DeliveryContext, ...DeliveryContext[]] {
    const { remote, via, receivedAt } = this;
    this.#records = 1 + this.others.length;
    const others = this.others.map((trigger) => {
      const start = { id: newId(), clock: this.#clock, remote, via, receivedAt };
      const other = new DeliveryContext(start);
      other.trigger = trigger;
      other.resourceVersion = this.resourceVersion;
      other.secret = this.secret;
      other.failure = this.failure;
      other.unsigned = this.unsigned;
      other.connection = this.connection;
      other.bodyBytes = this.bodyBytes;
      other.headerNames = this.headerNames;
      other.event = this.event;
      other.handshakeMethod = this.handshakeMethod;
      other.#records = this.#records;
      Object.assign(other.#stages, this.#stages);
      return other;
    });
    return [this, ...others];
  }

  /** Takes what is recorded of the headers; nothing of it is vouched for. */
  cameWith(headers: Readonly<Record<string, string>>): void {
    this.headerNames = Object.keys(headers);
    this.event = eventOf(headers).slice(0, MAX_EVENT);
  }

  passed(stage: "received" | "authenticated" | "parsed" | "decided"): void {
    this.#stages[stage] = this.#clock.now() - this.receivedAt;
  }

  /** The fields of the record that do not depend on the decision; the trigger has to be known. */
  facts(): DeliveryFacts {
    if (this.trigger === undefined) throw new Error("A delivery record needs its trigger");
    const { project, name, spec } = this.trigger.resource;
    const condition = spec.event.filter?.condition;
    const detail: DeliveryDetail = {
      headerNames: this.headerNames,
      ...(this.event === "" ? {} : { event: this.event }),
      stages: this.#stages,
      ...defined({
        condition,
        redeliveryOf: this.redeliveryOf,
        connection: this.connection,
        failure: this.failure,
      }),
      ...(this.unsigned ? { unsigned: true } : {}),
      ...defined({ signed: this.signed, handshakeMethod: this.handshakeMethod }),
    };
    return {
      id: this.id,
      project,
      trigger: name,
      source: this.source ?? spec.event.source,
      via: this.via,
      receivedAt: this.receivedAt,
      status: this.via === "internal" ? 0 : 200,
      remote: this.remote,
      secretStore: this.secret?.store ?? "",
      secretKey: this.secret?.key ?? "",
      bodyBytes: this.bodyBytes,
      durationMs: this.#clock.now() - this.receivedAt,
      detail,
    };
  }

  /**
   * The record of a request that starts nothing: a handshake or a refusal. Strangers cause these, so
   * what a sender writes into one is bounded, whichever stage the request has come to.
   */
  toDelivery(end: { outcome: DeliveryOutcome; status: number; reason: string }): Delivery {
    const facts = this.facts();
    const detail = { ...facts.detail, ...recordedNames(this.headerNames, this.#records) };
    return { ...facts, ...end, reason: end.reason.slice(0, MAX_REASON), detail, taskId: "" };
  }
}

/** A request as it arrived; everything after this works on these exact bytes. */
export interface ReceivedDelivery {
  /** In capitals; only a `POST` brings events. */
  readonly method: string;
  readonly body: Uint8Array<ArrayBuffer>;
  /** Headers, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** URL as it arrived, query included. */
  readonly url: string;
  readonly context: DeliveryContext;
  /** When it arrived, in milliseconds since the epoch, where that was before its context began. */
  readonly arrivedAt?: number;
}
