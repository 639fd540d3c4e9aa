/**
 * The handlers of the operations on nodes.
 *
 * @module
 */

import type { NODE_OPERATIONS } from "../api/node_operations.ts";
import type { Clock } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import { shortDuration } from "../base/duration.ts";
import type { NodeRecord } from "../store/node_records.ts";
import { takesTasks } from "./records/node_faults.ts";
import type { NodeStore } from "../store/node_store.ts";
import type { AuditLog } from "./records/audit_log.ts";
import { NODES } from "./records/node_record_type.ts";
import { findRecord } from "./records/records.ts";
import type { RecordStore } from "./records/record_type.ts";
import type { Handlers } from "./server/server.ts";

/** The handlers, by name of the operation. */
export function nodeHandlers(
  host: AuditLog & { readonly store: RecordStore & NodeStore; readonly clock: Clock },
): Pick<Handlers, keyof typeof NODE_OPERATIONS> {
  return {
    "node.drain": ({ name, drained }, caller) =>
      host.audited({ operation: "node.drain", targets: [`node/${name}`], caller }, async () => {
        const { id } = await findRecord(NODES, name, host.store);
        await host.store.drainNode(id, drained);
        const nodes = await host.store.listNodes();
        const running = nodes.find((node) => node.id === id)?.running ?? 0;
        return { name, drained, running, any_takes_tasks: nodes.some(takesTasks) };
      }),
    "node.forget": ({ name, force }, caller) =>
      host.audited({ operation: "node.forget", targets: [`node/${name}`], caller }, async () => {
        const node = await findRecord(NODES, name, host.store);
        if (!force) refuseLiving(node, host.clock.now());
        await host.store.forgetNode(node.id);
        return { name };
      }),
  };
}

/**
 * Refuses a node whose lease has not expired: it may still run. The store refuses the node of this
 * daemon, also with `force`.
 *
 * @throws {AppError} `conflict`.
 */
function refuseLiving({ name, isSelf, isAlive, leaseUntil }: NodeRecord, now: number): void {
  if (isSelf || !isAlive || leaseUntil === undefined) return;
  throw new AppError(
    "conflict",
    `Node ${name} runs, or ended within its lease, which expires in ${
      shortDuration(leaseUntil - now)
    }: then others take over by themselves. If you are certain that it has ended, add --force`,
  );
}
