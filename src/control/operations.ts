/**
 * Every operation of the control plane and what carries it out.
 *
 * @module
 */

import type { DataDir } from "../base/data_dir.ts";
import { apply, type ApplyHost } from "./resources/apply.ts";
import { explain, type ExplainHost } from "./deliveries/explain.ts";
import { describe, get, type QueryHost, remove } from "./resources/queries.ts";
import { findTask } from "./records/records.ts";
import { redeliver, type RedeliverHost } from "./deliveries/redeliver.ts";
import { rotateSecret } from "./resources/rotate_secret.ts";
import type { Handlers, StreamHandlers } from "./server/server.ts";
import { showDelivery } from "./deliveries/show_delivery.ts";
import { sourceEventHandlers, type SourceEventHost } from "./source_events.ts";
import { status, type StatusHost } from "./records/status.ts";
import { taskHandlers, type TaskOperationsHost, taskStreams } from "./tasks/task_operations.ts";
import { keepToken, newToken, revokeToken } from "../auth/tokens.ts";
import { type TriggerActionHost, triggerHandlers } from "./triggers/trigger_actions.ts";
import { tryTrigger } from "../intake/tools/try_trigger.ts";
import { type UpkeepHost, upkeepStreams } from "./upkeep_streams.ts";
import { taskView } from "./records/views.ts";
import { watch } from "./watch.ts";

/** What the operations need. */
export interface OperationsHost
  extends
    ApplyHost,
    QueryHost,
    ExplainHost,
    RedeliverHost,
    TaskOperationsHost,
    TriggerActionHost,
    SourceEventHost,
    StatusHost,
    UpkeepHost {
  /** Where logs are. */
  readonly dirs: DataDir;
}

/** The operations, by name. */
export function controlOperations(
  host: OperationsHost,
): { handlers: Handlers; streams: StreamHandlers } {
  return {
    handlers: {
      status: () => status(host),
      apply: (input, caller) => apply(input, caller, host),
      get: (input) => get(input, host),
      describe: (input, caller) => describe(input, caller, host),
      delete: (input, caller) => remove(input, caller, host),
      ...taskHandlers(host),
      ...triggerHandlers(host),
      ...sourceEventHandlers(host),
      task: async ({ id }) => taskView(await findTask(id, host.store)),
      "delivery.explain": ({ id }) => explain(id, host),
      "delivery.show": ({ id }, caller) => showDelivery(id, caller, host),
      "audit.verify": () => host.store.verifyAudit(),
      "token.create": async ({ role, ttl_secs: ttlSecs, name }, caller) => {
        const made = newToken({ role, ttlSecs, name }, host);
        await host.trace("token.create", name, caller);
        await keepToken(made, host.store);
        return made.shown;
      },
      "token.revoke": async ({ id }, caller) => {
        await host.trace("token.revoke", id, caller);
        return { id: (await revokeToken(id, host)).id };
      },
      "secret.rotate": (input, caller) => rotateSecret(input, caller, host),
      "trigger.test": (input) => tryTrigger(input, host),
    },
    streams: {
      ...taskStreams(host),
      "get.watch": (input, signal) => watch(input, host, signal),
      "delivery.redeliver": (input, signal) => redeliver(input, host, signal),
      ...upkeepStreams(host),
    },
  };
}
