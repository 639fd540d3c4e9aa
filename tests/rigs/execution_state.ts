/**
 * The part of a daemon's state that tasks run on: a real store, real processes, the system's clock,
 * and a log to read.
 *
 * @module
 */

import { RunTokens } from "../../src/auth/run_tokens.ts";
import { systemClock } from "../../src/base/clock.ts";
import { dataDirAt } from "../../src/base/data_dir.ts";
import { pathResolver } from "../../src/base/user_paths.ts";
import { EventHub } from "../../src/base/event_hub.ts";
import { HealthConditions } from "../../src/base/health_conditions.ts";
import { createLog } from "../../src/base/log.ts";
import { RuntimeDirectory } from "../../src/base/runtime_directory.ts";
import { createEvaluator } from "../../src/cel/evaluator.ts";
import type { State } from "../../src/daemon/state.ts";
import { ForgeTokens } from "../../src/connections/forge_tokens.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import type { Resource } from "../../src/resources/resource.ts";
import { knownIn } from "../helpers/known_secrets.ts";
import { openProcessGroups } from "../../src/shell/process_groups.ts";
import type { DaemonEvents } from "../../src/store/events.ts";
import { ENDLESS } from "../../src/store/lease.ts";
import { LogFiles } from "../../src/store/files/log_files.ts";
import { openStore } from "../../src/store/sqlite/open_store.ts";
import { tempDir } from "../helpers/temp_dir.ts";

/** The fields of {@linkcode State} that running tasks uses. */
export type StateOfExecution = Pick<
  State,
  | "dirs"
  | "runtime"
  | "resolvePath"
  | "clock"
  | "log"
  | "events"
  | "health"
  | "store"
  | "logs"
  | "catalog"
  | "secrets"
  | "forgeTokens"
  | "evaluator"
  | "groups"
  | "lease"
  | "tokens"
>;

/** A state with the places that a test looks at. */
export interface ExecutionState extends AsyncDisposable {
  readonly state: StateOfExecution;
  /** Directory for the workspaces of tests. */
  readonly workspace: string;
  readonly logged: string[];
}

/** Opens a state with these resources. The store announces nothing. */
export async function executionState(resources: readonly Resource[]): Promise<ExecutionState> {
  const opening = new AsyncDisposableStack();
  const temp = opening.use(await tempDir());
  const dirs = dataDirAt(temp.path);
  const workspace = `${temp.path}/repo`;
  for (const path of [dirs.logs, dirs.run, dirs.bin, dirs.controlPlane, workspace]) {
    await Deno.mkdir(path);
  }
  // What a sandbox has of a daemon, and no test here calls.
  for (const path of [dirs.stepSocket, `${dirs.bin}/svc`]) await Deno.writeTextFile(path, "");
  const logged: string[] = [];
  const write = (line: string) => void logged.push(line);
  const log = createLog({ level: "debug", format: "json", clock: systemClock, write });
  const catalog = new Catalog(resources);
  const secrets = knownIn(catalog);
  const state: StateOfExecution = {
    dirs,
    runtime: opening.use(
      await RuntimeDirectory.open({ dir: dirs, env: () => undefined, log }),
    ),
    resolvePath: pathResolver({ from: dirs.root, home: "/home/me" }),
    clock: systemClock,
    log,
    events: new EventHub<DaemonEvents>(log),
    health: new HealthConditions(),
    store: opening.use(await openStore(dirs.database)),
    logs: new LogFiles(dirs.logs),
    catalog,
    secrets,
    forgeTokens: new ForgeTokens({ catalog, clock: systemClock, secrets }),
    evaluator: opening.use(createEvaluator({ deadlineMs: 1000 })),
    groups: opening.use(openProcessGroups()),
    tokens: new RunTokens(),
    lease: ENDLESS,
  };
  // Asked once here: its first question leaves an output open at the end of a test.
  await state.groups.alive(2 ** 22 - 1);
  const dispose = () => opening.disposeAsync();
  return { state, workspace, logged, [Symbol.asyncDispose]: dispose };
}
