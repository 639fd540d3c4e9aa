/**
 * `svc trigger fire`, `suspend` and `resume`.
 *
 * @module
 */

import type { Input, Output } from "../../api/operations.ts";
import type { Fired, TRIGGER_OPERATIONS } from "../../api/trigger_operations.ts";
import { askedBy, type Caller } from "../../auth/caller.ts";
import { utf8 } from "../../base/bytes.ts";
import type { Catalog } from "../../resources/catalog.ts";
import type { KnownSecrets } from "../../secrets/known_secrets.ts";
import { displayName, type Resource } from "../../resources/resource.ts";
import { trigger as kind, type TriggerSpec } from "../../resources/trigger.ts";
import {
  fire,
  type FiredEvent,
  type FireHost,
  MANUAL,
  parseFired,
} from "../../intake/pipeline/fire.ts";
import type { Triggers } from "../../intake/admission/triggers.ts";
import { lowerCase, missingHeaders } from "../../intake/tools/headers.ts";
import type { BacktestHost } from "../../intake/tools/backtest.ts";
import { type TryHost, tryTrigger } from "../../intake/tools/try_trigger.ts";
import { findStored } from "../deliveries/find_stored.ts";
import type { RecordStore } from "../records/record_type.ts";
import { findResource } from "../resources/queries.ts";
import type { ResourceWriter } from "../resources/resource_writer.ts";
import type { Handlers } from "../server/server.ts";
import { backtestTrigger } from "./backtest.ts";
import { type SendHost, sendToTrigger, signForTrigger } from "./send.ts";
import { byCurrentResources } from "../../store/stale_resources.ts";

/** The triggers of a daemon, and the pipeline that their events pass. */
export interface TriggerActionHost extends FireHost, TryHost, SendHost, BacktestHost {
  readonly store: FireHost["store"] & TryHost["store"] & BacktestHost["store"] & RecordStore;
  readonly catalog: Catalog;
  readonly secrets: KnownSecrets;
  readonly triggers: Triggers;
  readonly writer: ResourceWriter;
}

/** The handlers, by name of the operation. */
export function triggerHandlers(
  host: TriggerActionHost,
): Pick<Handlers, keyof typeof TRIGGER_OPERATIONS> {
  return {
    "trigger.test": async (input) => {
      const { delivery } = input;
      const stored = delivery === undefined ? undefined : await findStored(delivery, host.store);
      return host.secrets.redactAll(await tryTrigger(input, stored, host));
    },
    "trigger.backtest": (input, _caller, signal) => backtestTrigger(input, host, signal),
    "trigger.send": (input, caller) => sendToTrigger(input, caller, host),
    "trigger.sign": (input, caller) => signForTrigger(input, caller, host),
    "trigger.fire": (input, caller) => fireByHand(input, caller, host),
    "trigger.suspend": (input) => setSuspended(input, true, host),
    "trigger.resume": (input) => setSuspended(input, false, host),
  };
}

/**
 * Fires a trigger of any source; only authentication is skipped.
 *
 * @throws {AppError} `not_found`; `invalid` when the payload is no JSON object; `overloaded`.
 */
function fireByHand(
  input: Input<"trigger.fire">,
  caller: Caller,
  host: TriggerActionHost,
): Promise<Fired> {
  return byCurrentResources(
    host.resources,
    (resourceVersion) => fireNow(input, { by: askedBy(caller), resourceVersion }, host),
  );
}

async function fireNow(
  { name, project: wanted, payload, headers: given = {} }: Input<"trigger.fire">,
  decided: Pick<FiredEvent, "by" | "resourceVersion">,
  host: TriggerActionHost,
): Promise<Fired> {
  const { project } = findResource(kind, { project: wanted, name }, host.catalog);
  const trigger = host.triggers.named({ project, trigger: name });
  const id = host.newId();
  const headers = lowerCase(given);
  const { outcome, reason, taskId } = await fire({
    trigger,
    id,
    source: MANUAL,
    payload: parseFired(payload, trigger),
    body: utf8(payload),
    headers,
    ...decided,
  }, host);
  const condition = outcome === "filtered" ? trigger.resource.spec.event.filter?.condition : "";
  return {
    trigger: name,
    outcome,
    reason,
    delivery_id: id,
    task_id: taskId ?? null,
    missing_headers: missingHeaders(condition ?? "", headers),
  };
}

/**
 * Changes `spec.suspend` as an apply would; nothing is written when it has the value already.
 *
 * @throws {AppError} `not_found`.
 */
function setSuspended(
  { name, project }: Input<"trigger.suspend">,
  suspend: boolean,
  host: TriggerActionHost,
): Promise<Output<"trigger.suspend">> {
  return host.writer.exclusively(async (commit) => {
    const resource = findResource(kind, { project, name }, host.catalog) as Resource<TriggerSpec>;
    const { suspend: before = false, ...spec } = resource.spec;
    const changed = before !== suspend;
    if (changed) {
      const generation = resource.generation + 1;
      const updated = { ...resource, generation, updatedAt: host.clock.now() };
      await commit([{
        op: "put",
        resource: { ...updated, spec: suspend ? { ...spec, suspend } : spec },
      }]);
    }
    return { name: displayName(resource), changed };
  });
}
