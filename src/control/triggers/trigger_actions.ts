/**
 * `svc trigger fire`, `suspend` and `resume`.
 *
 * @module
 */

import type { Input, Output } from "../../api/operations.ts";
import type { Fired, TRIGGER_OPERATIONS } from "../../api/trigger_operations.ts";
import { utf8 } from "../../base/bytes.ts";
import type { Catalog } from "../../resources/catalog.ts";
import { displayName, type Resource } from "../../resources/resource.ts";
import { trigger as kind, type TriggerSpec } from "../../resources/trigger.ts";
import { fire, type FireHost, MANUAL, parseObject } from "../../intake/pipeline/fire.ts";
import type { Triggers } from "../../intake/admission/triggers.ts";
import { type TryHost, tryTrigger } from "../../intake/tools/try_trigger.ts";
import { findResource } from "../resources/queries.ts";
import type { ResourceWriter } from "../resources/resource_writer.ts";
import type { Handlers } from "../server/server.ts";

/** What these operations need. */
export interface TriggerActionHost extends FireHost, TryHost {
  readonly catalog: Catalog;
  readonly triggers: Triggers;
  readonly writer: ResourceWriter;
}

/** The handlers, by name of the operation. */
export function triggerHandlers(
  host: TriggerActionHost,
): Pick<Handlers, keyof typeof TRIGGER_OPERATIONS> {
  return {
    "trigger.test": (input) => tryTrigger(input, host),
    "trigger.fire": (input) => fireByHand(input, host),
    "trigger.suspend": (input) => setSuspended(input, true, host),
    "trigger.resume": (input) => setSuspended(input, false, host),
  };
}

/**
 * Fires a trigger of any source; only authentication is skipped.
 *
 * @throws {AppError} `not_found`; `invalid` when the payload is no JSON object; `overloaded`.
 */
async function fireByHand(
  { name, project: wanted, payload }: Input<"trigger.fire">,
  host: TriggerActionHost,
): Promise<Fired> {
  const { project } = findResource(kind, { project: wanted, name }, host.catalog);
  const trigger = host.triggers.named({ project, trigger: name });
  const id = host.newId();
  const event = { trigger, id, source: MANUAL, payload: parseObject(payload) };
  const { outcome, reason, taskId } = await fire({ ...event, body: utf8(payload) }, host);
  return { trigger: name, outcome, reason, delivery_id: id, task_id: taskId ?? null };
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
