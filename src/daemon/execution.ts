/**
 * The parts that run commands: the worker with its tasks, plugins and hooks, and the retention that
 * removes old records.
 *
 * @module
 */

import { ParallelDisposer } from "../base/parallel_disposer.ts";
import { SenderPermissions } from "../connections/sender_permissions.ts";
import { EventWaits } from "../intake/waits/event_waits.ts";
import { commentReader } from "../control/approvals/answer_by_comment.ts";
import { type AuditLog, createAuditLog } from "../control/records/audit_log.ts";
import { Notifier } from "../notifications/notifier.ts";
import { OverdueApprovals } from "../notifications/overdue_approvals.ts";
import { Answers } from "../outbox/answers.ts";
import { forgeOfTask } from "../outbox/answer_drafts.ts";
import { approvalTeller } from "../outbox/approval_teller.ts";
import { HeldMessages } from "../outbox/held_messages.ts";
import { Outbox } from "../outbox/outbox.ts";
import { unansweredDraft } from "../outbox/unanswered.ts";
import { startAuditRetention } from "../plugins/audit_retention.ts";
import { CronPlugins } from "../plugins/cron_plugins.ts";
import { endInterruptedPlugins, guardPlugins } from "../plugins/plugin_processes.ts";
import { policyCheck } from "../plugins/policy/policy_check.ts";
import { followBudgets } from "../tasks/run/budget_changes.ts";
import { PluginFailures } from "../plugins/plugin_failures.ts";
import type { PluginHost } from "../plugins/run_plugin.ts";
import { Semaphore } from "../plugins/semaphore.ts";
import type { Task } from "../store/task_records.ts";
import type { RunHost } from "../tasks/run/task_context.ts";
import { startRetention } from "../tasks/retention/retention.ts";
import { openWorker, type TaskWorker } from "../tasks/run/worker.ts";
import { Inboxes } from "../tasks/step/inbox.ts";
import { SessionHomes } from "../tasks/sandbox/session_homes.ts";
import type { Sandboxes } from "../tasks/sandbox/step_sandbox.ts";
import { Machine } from "../tasks/workspace/machine.ts";
import { TaskDirectories } from "../tasks/workspace/task_directory.ts";
import { WrittenPlaces } from "../tasks/workspace/written_places.ts";
import type { DaemonConfig } from "./config.ts";
import { followOtherDaemons } from "./other_daemons.ts";
import { openSandboxes } from "./sandboxes.ts";
import type { State } from "./state.ts";

/** The parts that run commands. */
export interface Execution extends AsyncDisposable {
  readonly worker: TaskWorker;
  readonly inboxes: Inboxes;
  readonly directories: TaskDirectories;
  readonly sandboxes: Sandboxes;
  /** Checks the needs of manifests when they are applied. */
  readonly machine: Machine;
  readonly plugins: PluginHost;
  /** Sends messages to other systems. */
  readonly outbox: Outbox;
  /** Records in the audit what people answer through platforms. */
  readonly startAudited: AuditLog["startAudited"];
  /** The parts that answer tasks. */
  readonly answers: Answers;
  /** Sends messages about failures to people. */
  readonly notifier: Notifier;
}

/** The parts that running tasks needs beside a state. */
type ForTasks = Pick<
  RunHost,
  | "inherited"
  | "umask"
  | "timeLimits"
  | "inboxes"
  | "directories"
  | "sandboxes"
  | "sessionHomes"
  | "senders"
  | "eventWaits"
>;

/** Most plugins that run, and that wait: each needs some six descriptors. */
const PLUGIN_LIMITS = { running: 16, waiting: 2000 };

/** Cleans up after a crash, then runs the stored tasks. */
export async function openExecution(config: DaemonConfig, state: State): Promise<Execution> {
  const { settings: { workers, slackApiUrl }, keep } = config;
  await using opening = new AsyncDisposableStack();
  const failures = opening.use(new PluginFailures(state));
  const plugins = { ...pluginHost(config, state, await guardPlugins(state)), failures };
  opening.defer(() => plugins.semaphore.idle()); // with the processes that plugins left behind
  const busy = opening.use(new ParallelDisposer());
  const running = withTaskRunning(state, config);
  const { inboxes, directories, sandboxes, sessionHomes, eventWaits } = running;
  opening.use(sandboxes);
  void sandboxes.support(); // is known when the first step asks
  const outbox = busy.use(new Outbox({ ...state, slackApiUrl }));
  const answers = busy.use(new Answers({ ...state, outbox })); // hears the worker begin
  const notifier = busy.use(new Notifier({ ...state, outbox }));
  busy.use(new HeldMessages(state));
  busy.use(new OverdueApprovals(state));
  // A message may come with an event, or through another daemon.
  opening.use(state.events.on("inboxFilled", ({ taskId }) => {
    inboxes.catchUp(taskId).catch((error) =>
      state.log.warn("an inbox could not be read", { error })
    );
  }));
  if (state.guard !== undefined) busy.use(followOtherDaemons(state));
  const unanswered = async (task: Task, reason: string) => {
    await outbox.enqueue([unansweredDraft(task, reason)]);
  };
  const { startAudited } = busy.use(createAuditLog(state));
  eventWaits.addReader(commentReader({ ...state, outbox, startAudited }));
  busy.use(eventWaits).start();
  const teller = approvalTeller({ ...state, outbox });
  const forgeOf = (task: Task) => forgeOfTask(task, state.store);
  const worker = busy.use(await openWorker({ ...running, teller, unanswered, forgeOf, workers }));
  opening.use(followBudgets(state));
  const machine = new Machine(running);
  await endInterruptedPlugins(state);
  opening.use(startAuditRetention(state));
  busy.use(state.telemetry.countEarlier(state.store));
  busy.use(startRetention({ ...state, keep, directories, sessionHomes }));
  const { catalog, store } = state;
  busy.use(new CronPlugins(plugins, catalog, store));
  const open = opening.move();
  const dispose = () => open.disposeAsync();
  return {
    worker,
    inboxes,
    directories,
    sandboxes,
    machine,
    plugins,
    outbox,
    answers,
    startAudited,
    notifier,
    [Symbol.asyncDispose]: dispose,
  };
}

/** Adds to a state the parts that running tasks needs. */
export function withTaskRunning<Given extends Omit<RunHost, keyof ForTasks>>(
  state: Given & Pick<State, "store" | "forgeTokens">,
  { stepEnv, umask, timeLimits, env, settings }:
    & Pick<DaemonConfig, "stepEnv" | "umask" | "timeLimits" | "env">
    & { readonly settings: Pick<DaemonConfig["settings"], "requireSandbox"> },
): Given & ForTasks & { readonly sandboxes: AsyncDisposable; readonly eventWaits: EventWaits } {
  const forSteps = { ...state, inherited: stepEnv, umask, timeLimits };
  const written = new WrittenPlaces(state.dirs.written);
  const directories = new TaskDirectories(forSteps, state.dirs, written);
  const required = settings.requireSandbox;
  const sandboxes = openSandboxes({ ...forSteps, env, required, written });
  const sessionHomes = new SessionHomes(forSteps, state.dirs.sessions);
  const senders = new SenderPermissions(state);
  const inboxes = new Inboxes(state.store, state.clock);
  const eventWaits = new EventWaits(state);
  return { ...forSteps, inboxes, directories, sandboxes, sessionHomes, senders, eventWaits };
}

/** `marks` are further variables of each plugin. */
function pluginHost(
  config: DaemonConfig,
  state: State,
  marks: Readonly<Record<string, string>>,
): PluginHost {
  const { pluginRoot, umask, settings, pluginEnv } = config;
  return {
    ...state,
    pluginRoot,
    umask,
    policy: policyCheck({ ...state, pluginRoot }),
    semaphore: new Semaphore(PLUGIN_LIMITS),
    maxPayloadBytes: settings.maxBody,
    inherited: { ...pluginEnv.variables, ...marks },
  };
}
