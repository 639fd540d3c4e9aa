/**
 * The part of a daemon's state that intake works on: a real store, resources, a clock that the test
 * sets, and a log to read.
 *
 * @module
 */

import { dataDirAt } from "../../src/base/data_dir.ts";
import { pathResolver } from "../../src/base/user_paths.ts";
import { EventHub } from "../../src/base/event_hub.ts";
import { HealthConditions } from "../../src/base/health_conditions.ts";
import { idFactory } from "../../src/base/ids.ts";
import { createLog } from "../../src/base/log.ts";
import { createEvaluator } from "../../src/cel/evaluator.ts";
import type { State } from "../../src/daemon/state.ts";
import { KeyUses } from "../../src/intake/pipeline/key_uses.ts";
import { UnknownPaths } from "../../src/intake/unknown_paths.ts";
import { Rejections } from "../../src/intake/pipeline/rejections.ts";
import { TaskTriggerIndex } from "../../src/intake/task.ts";
import type { PluginHost } from "../../src/plugins/run_plugin.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import type { Resource } from "../../src/resources/resource.ts";
import { type StoreCall, type StoreCalls, storeCalls } from "../../src/store/store_calls.ts";
import { STORE_METHOD_NAMES, withAnnouncements } from "../../src/store/store_methods.ts";
import type { DaemonEvents } from "../../src/store/events.ts";
import type { CurrentResources } from "../../src/store/stale_resources.ts";
import type { Store, StoreMethod } from "../../src/store/store.ts";
import { type SetClock, setClock } from "../helpers/manual_clock.ts";
import { knownIn } from "../helpers/known_secrets.ts";
import { tempStore } from "../helpers/temp_store.ts";

/** The fields of {@linkcode State} that intake uses. */
export type StateOfIntake =
  & { readonly resources: CurrentResources }
  & Pick<
    State,
    | "dirs"
    | "resolvePath"
    | "clock"
    | "log"
    | "newId"
    | "events"
    | "health"
    | "store"
    | "catalog"
    | "secrets"
    | "taskTriggers"
    | "isFollowed"
    | "evaluator"
    | "rejections"
    | "unknownPaths"
    | "keyUses"
  >;

/** A state with the places that a test looks at. */
export interface IntakeState extends AsyncDisposable {
  readonly state: StateOfIntake;
  /** The store without the replacements in `broken`. */
  readonly store: Store;
  /** The store below the announcements; a test replaces its methods. */
  readonly broken: Store;
  /** Path of the database. */
  readonly path: string;
  readonly clock: SetClock;
  readonly logged: string[];
  /** How often tasks were announced to the worker, and events to the router. */
  readonly kicks: { count: number; events: number };
}

/** Time of every test, in milliseconds since the epoch. */
export const NOW = Date.parse("2026-01-02T03:04:05.678Z");

/** Throws at every access: the triggers of these tests have no plugins. */
export const NO_PLUGINS = new Proxy({} as PluginHost, {
  get(_, name) {
    throw new Error(`A plugin was asked for: ${String(name)}`);
  },
});

/** Methods that look up what stands in `store` at each call, where a test may have replaced it. */
function asReplaced(store: StoreCalls<StoreMethod>): StoreCalls<StoreMethod> {
  const call = <Name extends StoreMethod>(name: Name): StoreCall<Name> => (...args) =>
    store[name](...args);
  return storeCalls(STORE_METHOD_NAMES, call);
}

/** The resources of a catalog, as a daemon has them that others share; `refresh` takes in their changes. */
export function currentOf(
  catalog: Catalog,
  refresh: (catalog: Catalog) => void = () => {},
): CurrentResources {
  return {
    get version() {
      return catalog.storedVersion;
    },
    refresh: () => Promise.resolve(refresh(catalog)),
  };
}

/** Opens a state with these resources. */
export async function intakeState(
  resources: readonly Resource[],
  { celDeadlineMs = 1000 }: { readonly celDeadlineMs?: number | undefined } = {},
): Promise<IntakeState> {
  const opening = new AsyncDisposableStack();
  const { store, dir, path } = opening.use(await tempStore());
  const clock = setClock(NOW);
  const logged: string[] = [];
  const write = (line: string) => void logged.push(line);
  const log = createLog({ level: "debug", format: "json", clock, write });
  const events = new EventHub<DaemonEvents>(log);
  const kicks = { count: 0, events: 0 };
  events.on("tasksStored", () => void kicks.count++);
  events.on("sourceEventsStored", () => void kicks.events++);
  const broken: Store = { ...store };
  const catalog = new Catalog(resources);
  const taskTriggers = new TaskTriggerIndex(catalog);
  const state: StateOfIntake = {
    dirs: dataDirAt(dir),
    resolvePath: pathResolver({ from: dir, home: "/home/me" }),
    clock,
    log,
    newId: idFactory(clock),
    events,
    health: new HealthConditions(),
    store: withAnnouncements({ ...store, ...asReplaced(broken) }, events),
    catalog,
    resources: currentOf(catalog),
    secrets: knownIn(catalog),
    taskTriggers,
    isFollowed: (task) => taskTriggers.of(task).length > 0,
    evaluator: opening.use(createEvaluator({ deadlineMs: celDeadlineMs })),
    rejections: opening.use(new Rejections({ store, log, clock })),
    unknownPaths: opening.use(new UnknownPaths({ catalog, log, clock })),
    keyUses: opening.use(new KeyUses({ store, log, clock })),
  };
  const dispose = () => opening.disposeAsync();
  return { state, store, broken, path, clock, logged, kicks, [Symbol.asyncDispose]: dispose };
}
