/**
 * A source of events without a daemon: a real store, resources, a clock that the test moves, and a
 * log to read.
 *
 * @module
 */

import type { Resource } from "../../src/resources/resource.ts";
import type { Delivery } from "../../src/store/delivery_records.ts";
import type { Store } from "../../src/store/store.ts";
import type { Task } from "../../src/store/task_records.ts";
import { withPipeline } from "../../src/daemon/intake.ts";
import { intakeState, NO_PLUGINS, type StateOfIntake } from "./intake_state.ts";
import { manifestResources } from "./webhook_rig.ts";

export type SourceHost = ReturnType<typeof withPipeline<StateOfIntake>>;

/** A store with resources, and the host of a source. */
export interface SourceRig extends AsyncDisposable {
  readonly host: SourceHost;
  /** The store without the replacements in `broken`. */
  readonly store: Store;
  /** Moved by hand. */
  readonly clock: { time: number };
  readonly logged: string[];
  /** Number of times that the worker was woken. */
  readonly kicks: { count: number };
  /**
   * The store of the host; a test replaces its methods.
   */
  readonly broken: Store;
  /** Applies manifests at the time of the clock, as `svc apply` would. */
  apply(text: string): void;
  remove(trigger: string): void;
  /** Every delivery, by id. */
  deliveries(): Promise<readonly Delivery[]>;
  /** Every task, by id. */
  tasks(): Promise<readonly Task[]>;
  /** Payloads of all deliveries, by id. */
  payloads(): Promise<readonly unknown[]>;
}

/** A workflow and a workspace for the triggers of a test. */
export const BASE = `
kind: Workflow
metadata: {name: ci}
spec: {steps: [{id: build, run: "true"}]}
---
kind: Workspace
metadata: {name: repo}
spec: {path: repo}
`;

/** A trigger; `event` and `more` are YAML flow mappings without their braces. */
export function triggerOf(name: string, event: string, more = ""): string {
  return `
---
kind: Trigger
metadata: {name: ${name}}
spec: {event: {${event}}, action: {workflow: ci, workspace: repo}${more === "" ? "" : `, ${more}`}}
`;
}

export async function sourceRig(manifest: string): Promise<SourceRig> {
  const { state, store, clock, logged, kicks, broken, ...base } = await intakeState([]);
  const host = withPipeline(state, NO_PLUGINS);
  const { catalog } = state;
  const deliveries = async () => (await store.listDeliveries({ limit: 1_000_000 })).toReversed();
  const rig: SourceRig = {
    host,
    store,
    clock,
    logged,
    kicks,
    broken,
    deliveries,
    apply(text) {
      const at = clock.time;
      catalog.change(
        manifestResources(text).map((stated) => {
          const { kind, project, name } = stated;
          const before = catalog.find(kind, project, name);
          const resource: Resource = {
            ...stated,
            generation: (before?.generation ?? 0) + 1,
            createdAt: before?.createdAt ?? at,
            updatedAt: at,
          };
          return { op: "put", resource };
        }),
      );
    },
    remove: (name) =>
      catalog.change([{ op: "delete", key: { kind: "Trigger", project: "default", name } }]),
    tasks: async () => (await store.listTasks({ limit: 1_000_000 })).toReversed(),
    async payloads() {
      const stored = (await deliveries()).map(({ id }) => store.readDelivery(id));
      return (await Promise.all(stored)).map((one) =>
        JSON.parse(new TextDecoder().decode(one?.content?.body))
      );
    },
    [Symbol.asyncDispose]: () => base[Symbol.asyncDispose](),
  };
  rig.apply(manifest);
  return rig;
}
