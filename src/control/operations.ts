/**
 * The handlers of every operation of the control plane.
 *
 * @module
 */

import type { DataDir } from "../base/data_dir.ts";
import { deliveryHandlers, type DeliveryOperationsHost } from "./deliveries/delivery_operations.ts";
import { accessHandlers, type AccessHost } from "./access_operations.ts";
import { answerHandlers, type AnswerOperationsHost } from "./answer_operations.ts";
import { type ExplainingHost, explainingTasks } from "./records/explained_tasks.ts";
import { recordType } from "./records/records.ts";
import { resolveId } from "./records/resolve.ts";
import { status, type StatusHost } from "./records/status.ts";
import { apply, type ApplyHost } from "./resources/apply.ts";
import { remove } from "./resources/delete.ts";
import { describe, get } from "./resources/queries.ts";
import type { ResolveRecord } from "./server/references.ts";
import { removeSecret, rotateSecret } from "./resources/rotate_secret.ts";
import type { Handlers } from "./server/server.ts";
import {
  connectionHandlers,
  type ConnectionOperationsHost,
} from "./connections/connection_operations.ts";
import { sourceEventHandlers, type SourceEventHost } from "./source_events.ts";
import { taskHandlers, type TaskOperationsHost } from "./tasks/task_operations.ts";
import { nodeHandlers, type NodeOperationsHost } from "./node_operations.ts";
import {
  notificationHandlers,
  type NotificationOperationsHost,
} from "./notification_operations.ts";
import { outboxHandlers, type OutboxOperationsHost } from "./outbox_operations.ts";
import { recordHandlers, type RecordOperationsHost } from "./record_operations.ts";
import { type TriggerActionHost, triggerHandlers } from "./triggers/trigger_actions.ts";
import { stats, type StatsHost } from "./stats.ts";
import { doctorHandlers, type DoctorOperationsHost } from "./doctor_operations.ts";
import { upkeepHandlers, type UpkeepHost } from "./upkeep_streams.ts";
import type { Store } from "../store/store.ts";
import { lastWrittenAt } from "../tasks/log/log_reader.ts";
import { Watches, type WatchHost } from "./watch.ts";
import { type SubjectsHost, SubjectWatch } from "./watch_subjects.ts";

/** What the operations need. */
export interface OperationsHost
  extends
    AccessHost,
    ApplyHost,
    ConnectionOperationsHost,
    WatchHost,
    SubjectsHost,
    DeliveryOperationsHost,
    TaskOperationsHost,
    TriggerActionHost,
    SourceEventHost,
    AnswerOperationsHost,
    OutboxOperationsHost,
    NotificationOperationsHost,
    NodeOperationsHost,
    RecordOperationsHost,
    StatusHost,
    StatsHost,
    Omit<ExplainingHost, "lastWrittenAt">,
    UpkeepHost,
    DoctorOperationsHost {
  /** The whole store; each operation uses its part. */
  readonly store: Store;
  readonly dirs: DataDir;
  /** State of the daemon that only the daemon knows. */
  readonly status: StatusHost["status"];
  /** This daemon among those that share its database; absent where none does. */
  readonly shared?: NonNullable<DoctorOperationsHost["shared"]>;
}

/** The handlers by operation, and the lookup of the ids that inputs name. */
export function controlOperations(
  given: OperationsHost,
): { readonly handlers: Handlers; readonly resolve: ResolveRecord } {
  const silence = { lastWrittenAt: (id: string) => lastWrittenAt(given.logs.of(id)) };
  const store = explainingTasks(given.store, { ...given, ...silence });
  const host: OperationsHost = { ...given, store };
  const watches = new Watches(host);
  const subjects = new SubjectWatch(host, watches);
  return {
    handlers: {
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
      ...triggerHandlers(host),
      ...deliveryHandlers(host),
      ...recordHandlers(host),
      ...sourceEventHandlers(host),
      ...answerHandlers(host),
      ...connectionHandlers(host),
      ...outboxHandlers(host),
      ...notificationHandlers(host),
      ...accessHandlers(host),
      ...nodeHandlers(host),
      ...upkeepHandlers(host),
      ...doctorHandlers(host),
    },
    resolve: async (record, given) => {
      if (record === "delivery") await host.rejections.flush(); // "latest" may be a refusal
      return await resolveId(recordType(record), given, host);
    },
  };
}
