/**
 * A program that runs the daemon's webhook server with a store that keeps nothing and answers at
 * once, and prints its address. It shows the rate of the pipeline alone.
 *
 * @module
 */

import { systemClock } from "../../src/base/clock.ts";
import { idFactory } from "../../src/base/ids.ts";
import { createLog } from "../../src/base/log.ts";
import { createEvaluator } from "../../src/cel/evaluator.ts";
import { BodyBudget } from "../../src/http/body_budget.ts";
import { serve } from "../../src/http/server/serve.ts";
import type { PluginHost } from "../../src/plugins/run_plugin.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import { KeyUses } from "../../src/intake/pipeline/key_uses.ts";
import { UnknownPaths } from "../../src/intake/unknown_paths.ts";
import { Rejections } from "../../src/intake/pipeline/rejections.ts";
import { webhookHandler } from "../../src/intake/routes.ts";
import type { EventDecision, EventOutcome } from "../../src/store/delivery_records.ts";
import type { DeliveryRecorder, KeyUseStore } from "../../src/store/delivery_store.ts";
import type { SourceEventRecorder } from "../../src/store/source_event_store.ts";
import { Planner } from "../../src/tasks/plan.ts";
import { Triggers } from "../../src/intake/admission/triggers.ts";
import { toText } from "../../tests/helpers/manifests.ts";
import { manifestResources } from "../../tests/rigs/webhook_rig.ts";
import { MANIFEST } from "./site.ts";

const log = createLog({
  level: "warn",
  format: "pretty",
  clock: systemClock,
  write: (line) => console.error(line),
});
const defaultWorkspace = {
  kind: "Workspace",
  metadata: { name: "default" },
  spec: { path: "workspaces/default" },
};
const catalog = new Catalog(manifestResources(toText([...MANIFEST, defaultWorkspace])));
const store: DeliveryRecorder & KeyUseStore & SourceEventRecorder = {
  recordDelivery: ({ events }) => Promise.resolve(events.map(outcomeOf)),
  recordDeliveries: ({ deliveries }) =>
    Promise.resolve(deliveries.map(({ events }) => events.map(outcomeOf))),
  recordHandshake: () => Promise.resolve(),
  recordRejections: () => Promise.resolve(),
  recordSourceEvent: ({ event }) => Promise.resolve({ status: "accepted", id: event.id }),
  recordKeyUse: () => Promise.resolve(),
  listKeyUse: () => Promise.resolve([]),
};

function outcomeOf(event: EventDecision): EventOutcome {
  if (event.outcome !== "accepted") return event;
  return { outcome: "accepted", reason: event.note ?? "", taskId: event.task.id };
}

const server = await serve({
  on: { hostname: "127.0.0.1", port: 0 },
  log,
  drainMs: 1000,
  handler: webhookHandler({
    catalog,
    store,
    log,
    clock: systemClock,
    newId: idFactory(systemClock),
    triggers: new Triggers(catalog),
    planner: new Planner(catalog),
    evaluator: createEvaluator({ deadlineMs: 1000 }),
    rejections: new Rejections({ store, log, clock: systemClock }),
    unknownPaths: new UnknownPaths({ catalog, log, clock: systemClock }),
    keyUses: new KeyUses({ store, log, clock: systemClock }),
    resources: { version: 0, refresh: () => Promise.resolve() },
    plugins: {} as PluginHost, // the triggers of the bench have none
    findCertificate: () => Promise.resolve({ failure: "certificate_unreachable" }),
    visit: () => Promise.resolve(),
    limits: { maxBytes: 25 * 1024 * 1024, deadlineMs: 30_000 },
    bodies: new BodyBudget(128 << 20),
  }, () => true),
});
console.log(`http://127.0.0.1:${server.port}`);
