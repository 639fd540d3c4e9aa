/**
 * The facts about one request. They grow from stage to stage, so that a request that a stage refuses
 * still leaves a record.
 *
 * @module
 */

import type { AskedBy } from "../../base/asked_by.ts";
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
/** Most characters of the reason of a refusal, which may quote the request. */
const MAX_REASON = 2000;

/** Most characters of the name of an event. */
const MAX_EVENT = 100;

/** The facts about one request, set by the stages as they learn them. */
export class DeliveryContext {
  /** Id of the request in answers, and of its delivery. */
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
  readonly remote: string;
  /** The trigger of the path, or the first one of its endpoint; absent until it was found. */
  trigger: ActiveTrigger | undefined;
  /** The other triggers that get the request; each has a record of its own. */
  others: readonly ActiveTrigger[] = NONE;
  /** Version of the stored resources by which triggers were found; absent if any version will do. */
  resourceVersion: number | undefined;
  secret: { readonly store: string; readonly key: string } | undefined;
  /** Why its signature was refused. */
  failure: VerifyFailure | undefined;
  /** Whether it was accepted without a signature (`allowUnsigned`). */
  unsigned = false;
  /** Name of the Connection that fetched it, if no signature was checked. */
  connection: string | undefined;
  bodyBytes = 0;
  headerNames: readonly string[] = [];
  /** The event that a header names; empty if none does. */
  event = "";
  /** The parts that its signature covers, if an expression reads them. */
  signed: Coverage | undefined;
  /** Delivery that is sent again. */
  redeliveryOf: string | undefined;
  /** The ended task of which it is an unread message. */
  follows: string | undefined;
  /** Who had svc fire, sign or repeat it. */
  by: AskedBy | undefined;
  /** Method of an unsigned handshake; absent for any other request. */
  handshakeMethod: string | undefined;
  /** The `source` of the delivery; that of its trigger if absent. */
  readonly source: string | undefined;
  readonly via: DeliveryVia;
  readonly #clock: WallClock;
  readonly #stages: Record<string, number> = {};
  /** Number of records of the request. */
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

  /** The context of each trigger of the request: this one, and one with another id for each other. */
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
      other.by = this.by;
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

  /** Notes the headers of the request, of which no signature need cover any. */
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
    const detail: DeliveryDetail = defined({
      headerNames: this.headerNames,
      event: this.event === "" ? undefined : this.event,
      stages: this.#stages,
      condition,
      redeliveryOf: this.redeliveryOf,
      follows: this.follows,
      by: this.by,
      connection: this.connection,
      failure: this.failure,
      unsigned: this.unsigned ? true : undefined,
      signed: this.signed,
      handshakeMethod: this.handshakeMethod,
    });
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
   * The record of a request that starts nothing: a handshake or a refusal. Strangers can cause these,
   * so all texts of the sender in it are bounded.
   */
  toDelivery(end: { outcome: DeliveryOutcome; status: number; reason: string }): Delivery {
    const facts = this.facts();
    const detail = { ...facts.detail, ...recordedNames(this.headerNames, this.#records) };
    return { ...facts, ...end, reason: end.reason.slice(0, MAX_REASON), detail, taskId: "" };
  }
}

/** A request as it arrived; all stages work on these exact bytes. */
export interface ReceivedDelivery {
  /** In capitals; only a `POST` brings events. */
  readonly method: string;
  readonly body: Uint8Array<ArrayBuffer>;
  /** Headers, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** URL as it arrived, query included. */
  readonly url: string;
  readonly context: DeliveryContext;
  /** Time of its arrival in milliseconds since the epoch, if its context is newer. */
  readonly arrivedAt?: number;
}
