/**
 * The handlers of every operation of the control plane.
 *
 * @module
 */

import type { Core } from "../base/core.ts";
import type { UseHost } from "../doctor/use.ts";
import type { Place } from "../doctor/place.ts";
import type { Outbox } from "../outbox/outbox.ts";
import type { KnownSecrets } from "../secrets/known_secrets.ts";
import type { Events } from "../store/events.ts";
import type { Store } from "../store/store.ts";
import { lastWrittenAt } from "../tasks/log/log_reader.ts";
import type { WorkerLoad } from "../tasks/worker_load.ts";
import type { ChangeHost } from "./outputs/queue_change.ts";
import { agentHandlers } from "./agents/agent_operations.ts";
import type { AgentsHost } from "./agents/agent_scene.ts";
import { accessHandlers } from "./access_operations.ts";
import { approvalHandlers } from "./approvals/approval_operations.ts";
import { answerHandlers } from "./answer_operations.ts";
import { changeHandlers } from "./change_operations.ts";
import { connectionHandlers } from "./connections/connection_operations.ts";
import type { ConnectHost } from "./connections/connect_forge.ts";
import { type DeliveriesHost, deliveryHandlers } from "./deliveries/delivery_operations.ts";
import { conversationHandlers } from "./conversation_operations.ts";
import { doctorHandlers } from "./doctor_operations.ts";
import { mcpHandlers } from "./mcp_tools.ts";
import { nodeHandlers } from "./node_operations.ts";
import { notificationHandlers } from "./notification_operations.ts";
import { outboxHandlers } from "./outbox_operations.ts";
import { outputHandlers } from "./output_operations.ts";
import { pauseHandlers } from "./pause_operations.ts";
import { recordHandlers } from "./record_operations.ts";
import { type AuditedOutputsHost, withAuditedOutputs } from "./outputs/audited_outputs.ts";
import { commitChecks } from "./outputs/commit_checks.ts";
import { type MayHost, taskMay } from "./outputs/task_may.ts";
import { explainingTasks } from "./records/explained_tasks.ts";
import { explainingWaits } from "./records/explained_waits.ts";
import { recordingPersons } from "./records/person_changes.ts";
import { recordType } from "./records/records.ts";
import { resolveId } from "./records/resolve.ts";
import { status, type StatusHost } from "./records/status.ts";
import { apply } from "./resources/apply.ts";
import { remove } from "./resources/delete.ts";
import { describe, get } from "./resources/queries.ts";
import { removeSecret, rotateSecret } from "./resources/rotate_secret.ts";
import type { ResolveRecord } from "./server/references.ts";
import type { Handlers } from "./server/server.ts";
import { type SandboxesHost, sandboxHandlers } from "./sandboxes/sandbox_operations.ts";
import { sourceEventHandlers } from "./source_events.ts";
import { stats, type StatsHost } from "./stats.ts";
import type { TasksHost } from "./tasks/task_actions.ts";
import { taskHandlers } from "./tasks/task_operations.ts";
import { type TriggerActionHost, triggerHandlers } from "./triggers/trigger_actions.ts";
import { upkeepHandlers, type UpkeepHost } from "./upkeep_streams.ts";
import { Watches } from "./watch.ts";
import { SubjectWatch } from "./watch_subjects.ts";

/** The parts of a daemon that its operations use, a host for each subject. */
export interface OperationsHost
  extends
    Core,
    ConnectHost,
    DeliveriesHost,
    TasksHost,
    TriggerActionHost,
    StatusHost,
    StatsHost,
    UpkeepHost,
    SandboxesHost,
    AgentsHost,
    AuditedOutputsHost,
    ChangeHost,
    Omit<Place, "inDaemon" | "sandboxes">,
    UseHost {
  /** The whole store; each operation uses its part. */
  readonly store: Store;
  readonly events: Events;
  readonly outbox: Outbox;
  readonly dirs: Place["dirs"];
  readonly secrets: KnownSecrets;
  readonly inherited: SandboxesHost["inherited"];
  readonly runtime: SandboxesHost["runtime"];
  readonly sandboxes: SandboxesHost["sandboxes"];
  readonly directories: TasksHost["directories"] & MayHost["directories"];
  readonly status: StatusHost["status"];
  /** Runs the tasks of this daemon. */
  readonly worker: { readonly load: () => WorkerLoad };
  /** This daemon among those that share its database; absent where none does. */
  readonly shared?: NonNullable<Place["shared"]>;
}

/** The handlers by operation, and the lookup of the ids that inputs name. */
export function controlOperations(
  daemon: OperationsHost,
): { readonly handlers: Handlers; readonly resolve: ResolveRecord } {
  const tasks = explainingTasks(daemon.store, {
    ...daemon,
    lastWrittenAt: (id) => lastWrittenAt(daemon.logs.of(id)),
  });
  const store = explainingWaits(tasks, daemon);
  const host: OperationsHost = { ...daemon, store };
  const watches = new Watches(host);
  const subjects = new SubjectWatch(host, watches);
  return {
    handlers: recordingPersons({
      "status": (_input, caller) => status(caller, host),
      "stats": async (input) => await stats(input, host),
      "apply": (input, caller) => apply(input, caller, host),
      "get": (input) => get(input, host),
      "get.watch": (input, _caller, signal) => watches.lines(input, signal),
      "watch": (input, caller, signal) => subjects.watch(input, caller, signal),
      "describe": (input, caller) => describe(input, caller, host),
      "delete": (input, caller) => remove(input, caller, host),
      "secret.rotate": (input) => rotateSecret(input, host),
      "secret.remove": (input) => removeSecret(input, host),
      ...taskHandlers(host),
      ...approvalHandlers(host),
      ...triggerHandlers(host),
      ...deliveryHandlers(host),
      ...recordHandlers(host),
      ...sourceEventHandlers(host),
      ...conversationHandlers(host),
      ...withAuditedOutputs({
        ...answerHandlers(host),
        ...changeHandlers(host),
        ...outputHandlers(host),
      }, host),
      "github.may": (input, caller) => taskMay({ forge: "github", input, caller }, host),
      "gitlab.may": (input, caller) => taskMay({ forge: "gitlab", input, caller }, host),
      "github.checks": (input, caller) => commitChecks({ forge: "github", input, caller }, host),
      "gitlab.checks": (input, caller) => commitChecks({ forge: "gitlab", input, caller }, host),
      ...connectionHandlers(host),
      ...outboxHandlers(host),
      ...mcpHandlers(host),
      ...notificationHandlers(host),
      ...accessHandlers(host),
      ...nodeHandlers(host),
      ...pauseHandlers(host),
      ...sandboxHandlers(host),
      ...agentHandlers(host),
      ...upkeepHandlers(host),
      ...doctorHandlers(host),
    }, host),
    resolve: async (record, given) => {
      if (record === "delivery") await host.rejections.flush(); // "latest" may be a refusal
      return await resolveId(recordType(record), given, host);
    },
  };
}
