/**
 * The state of a daemon: its data directory, the store, the catalog, and other parts that the rest of
 * the daemon uses until it ends. Nothing here acts by itself.
 *
 * @module
 */

import { RunTokens } from "../auth/run_tokens.ts";
import type { Core } from "../base/core.ts";
import type { DataDir } from "../base/data_dir.ts";
import { EventHub } from "../base/event_hub.ts";
import { HealthConditions } from "../base/health_conditions.ts";
import { idFactory, type NewId } from "../base/ids.ts";
import type { DaemonLog } from "../base/log.ts";
import { RuntimeDirectory } from "../base/runtime_directory.ts";
import { pathResolver, type ResolvePath } from "../base/user_paths.ts";
import { createEvaluator, type Evaluator } from "../cel/evaluator.ts";
import { AppEvents } from "../connections/app_events.ts";
import { type VerifiedEvent, whyBeyondKey } from "../connections/beyond_key.ts";
import { ForgeTokens } from "../connections/forge_tokens.ts";
import { OwnUsers } from "../connections/own_users.ts";
import { loadCatalog, ResourceWriter } from "../control/resources/resource_writer.ts";
import { KeyUses } from "../intake/pipeline/key_uses.ts";
import { Rejections } from "../intake/pipeline/rejections.ts";
import { UnknownPaths } from "../intake/unknown_paths.ts";
import { TaskTriggerIndex } from "../intake/task.ts";
import { AnsweredTriggers } from "../outbox/answered_triggers.ts";
import { Markers } from "../outbox/marker.ts";
import { type GuardedEvent, type OwnEvent, OwnEvents } from "../outbox/own_events.ts";
import type { Catalog } from "../resources/catalog.ts";
import { closeToUnbound } from "../secrets/key_file.ts";
import type { Keyring } from "../secrets/keyring.ts";
import { KnownSecrets } from "../secrets/known_secrets.ts";
import { secretsInKeyFile } from "../secrets/own_secrets.ts";
import { openProcessGroups, type ProcessGroups } from "../shell/process_groups.ts";
import { NotificationIndex } from "../notifications/indexed_notifications.ts";
import { withAnnouncements } from "../store/store_methods.ts";
import type { DaemonEvents, Events } from "../store/events.ts";
import type { TaskNames } from "../store/task_records.ts";
import { openStorage } from "../storage/open_storage.ts";
import type { Storage } from "../storage/storage.ts";
import { Telemetry } from "../telemetry/telemetry.ts";
import type { DaemonConfig } from "./config.ts";
import { takeDataDir } from "./data_dir_lock.ts";

/** The parts that all other parts use; each change of the store is announced on `events`. */
export interface State extends Core, Storage {
  readonly log: DaemonLog;
  readonly newId: NewId;
  /** Announcements between the parts of the daemon. */
  readonly events: Events;
  /** Health conditions, shown as `degraded`. */
  readonly health: HealthConditions;
  readonly telemetry: Telemetry;

  // the data directory, and what runs on this machine
  readonly dirs: DataDir;
  /** Holds the short-lived files of tasks and plugins. */
  readonly runtime: RuntimeDirectory;
  /** Makes the paths of manifests absolute. */
  readonly resolvePath: ResolvePath;
  readonly groups: ProcessGroups;
  /** Run tokens of steps and plugins while they run. */
  readonly tokens: RunTokens;
  readonly keyring: Keyring;
  /** Hides the secrets of the catalog, and the daemon's own. */
  readonly secrets: KnownSecrets;

  // resources, and indexes over them
  readonly catalog: Catalog;
  /** The only way to change the catalog. */
  readonly resources: ResourceWriter;
  readonly evaluator: Evaluator;
  /** The triggers that fire when tasks end. */
  readonly taskTriggers: TaskTriggerIndex;
  readonly notifications: NotificationIndex;
  /** Whether the end of this task fires triggers or is to be answered. */
  readonly isFollowed: (task: TaskNames) => boolean;

  // marks of text that the daemon has written at platforms
  /** The users that Connections write as. */
  readonly ownUsers: OwnUsers;
  /** Marks messages, and recognises the marks. */
  readonly markers: Markers;
  /** The tokens of Connections to forges. */
  readonly forgeTokens: ForgeTokens;
  /** Why an event starts nothing: it is the daemon's own doing, or its Connection does not cover it. */
  readonly whyOwn: (event: GuardedEvent & VerifiedEvent) => OwnEvent | undefined;
  /** Why a chain of tasks ends at an event. */
  readonly whyCut: (event: GuardedEvent) => string | undefined;

  // facts about requests, stored in the background
  readonly rejections: Rejections;
  /** Remembers requests that found no trigger. */
  readonly unknownPaths: UnknownPaths;
  /** Which keys have matched. */
  readonly keyUses: KeyUses;
}

const markerKey = (keyring: Keyring) => keyring.derive("marker of answers");

/** Longest time that the loops of an expression may take. */
const CEL_DEADLINE_MS = 1000;

/**
 * Opens the state of a daemon.
 *
 * @throws {AppError} `refused` when the data directory cannot be used, or another daemon uses it.
 */
export async function openState(config: DaemonConfig): Promise<State> {
  const { dir, clock, log } = config;
  await using opening = new AsyncDisposableStack();
  const secrets = new KnownSecrets();
  secrets.know(...config.ownSecrets);
  log.redactWith((line) => secrets.redact(line));
  const { keyring, formerKeys, keyFiles } = opening.use(await takeDataDir(config));
  secrets.know(...keyFiles.flatMap(secretsInKeyFile));
  const runtime = opening.use(await RuntimeDirectory.open(config));
  const health = new HealthConditions();
  const telemetry = opening.use(new Telemetry(clock, health));
  if (config.wantsTraces && !telemetry.traces) {
    log.warn("no traces are collected: compile the program with OTEL_DENO=true to collect them");
  }
  const events = new EventHub<DaemonEvents>(log);
  const newId = idFactory(clock);
  const { env, settings } = config;
  const storage = opening.use(
    await openStorage(dir, {
      env,
      run: newId(),
      clock,
      daemon: { log, events, health, know: (secret) => secrets.know(secret) },
      leaseMs: settings.lease,
      labels: settings.nodeLabels,
      maxStepLogBytes: settings.maxStepLog,
      onWarning: (text) => log.warn(text),
      onNote: (text) => log.info(text),
      onBatch: telemetry.onBatch,
    }),
  );
  const store = telemetry.observe(withAnnouncements(storage.store, events));
  const catalog = await loadCatalog(store, keyring);
  const unclosed = keyring.opensUnbound ? await closeToUnbound(dir.secretKey) : undefined;
  if (unclosed !== undefined) log.warn(unclosed);
  secrets.follow(catalog);
  const limits = { deadlineMs: CEL_DEADLINE_MS, clock, onLate: telemetry.onLate };
  const evaluator = opening.use(createEvaluator(limits));
  const groups = opening.use(openProcessGroups());
  const rejections = opening.use(
    new Rejections({ store, log, clock, onRefused: telemetry.onRefused }),
  );
  const unknownPaths = opening.use(new UnknownPaths({ catalog, log, clock }));
  const keyUses = opening.use(new KeyUses({ store, log, clock }));
  const ownUsers = new OwnUsers(store, clock);
  await ownUsers.load();
  const markers = new Markers(
    await markerKey(keyring),
    await Promise.all(formerKeys.map(markerKey)),
  );
  const forgeTokens = new ForgeTokens({ catalog, clock, secrets });
  const appEvents = new AppEvents({ catalog, events, forgeTokens });
  const ownEvents = new OwnEvents({ catalog, markers, ownUsers, events });
  const notifications = new NotificationIndex(catalog);
  const taskTriggers = new TaskTriggerIndex(catalog);
  const answered = new AnsweredTriggers(catalog);
  const open = opening.move();
  return {
    ...storage,
    store,
    clock,
    log,
    newId,
    events,
    health,
    telemetry,
    dirs: dir,
    runtime,
    resolvePath: pathResolver({ from: dir.root, home: config.env("HOME") }),
    groups,
    tokens: new RunTokens(),
    keyring,
    secrets,
    catalog,
    resources: new ResourceWriter({ store, catalog, keyring, events }),
    evaluator,
    taskTriggers,
    notifications,
    isFollowed: (task) =>
      taskTriggers.of(task).length > 0 || answered.has(task) || notifications.hasTask(task),
    ownUsers,
    markers,
    forgeTokens,
    whyOwn(event) {
      const reason = appEvents.whyUncovered(event) ?? whyBeyondKey(event, catalog);
      return reason === undefined ? ownEvents.whyOwn(event) : { reason };
    },
    whyCut: (event) => ownEvents.whyCut(event),
    rejections,
    unknownPaths,
    keyUses,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}
