/**
 * REGISTRY of the operations of the control plane, the protocol of daemon and client. Each is `POST
 * /v1/{operation}` with a JSON object as its body. The client imports only types from here, so that
 * no command loads a schema.
 *
 * @module
 */

import { ACCESS_OPERATIONS } from "./access_operations.ts";
import { AGENT_OPERATIONS } from "./agent_operations.ts";
import { APPROVAL_OPERATIONS } from "./approval_operations.ts";
import { ANSWER_OPERATIONS } from "./answer_operations.ts";
import { CHANGE_OPERATIONS } from "./change_operations.ts";
import { CONNECTION_OPERATIONS } from "./connection_operations.ts";
import { CONVERSATION_OPERATIONS } from "./conversation_operations.ts";
import { DELIVERY_OPERATIONS } from "./delivery_operations.ts";
import { DOCTOR_OPERATIONS } from "./doctor_operations.ts";
import { MAY_OPERATIONS } from "./may_operations.ts";
import { MCP_OPERATIONS } from "./mcp_operations.ts";
import type { Attachment, InputOf, Operation, Output as Answer, OutputOf } from "./operation.ts";
import { NODE_OPERATIONS } from "./node_operations.ts";
import { NOTIFICATION_OPERATIONS } from "./notification_operations.ts";
import { OUTBOX_OPERATIONS } from "./outbox_operations.ts";
import { OUTPUT_OPERATIONS } from "./output_operations.ts";
import { PAUSE_OPERATIONS } from "./pause_operations.ts";
import { RECORD_OPERATIONS } from "./record_operations.ts";
import { RESOURCE_OPERATIONS } from "./resource_operations.ts";
import { SANDBOX_OPERATIONS } from "./sandbox_operations.ts";
import { SOURCE_OPERATIONS } from "./source_operations.ts";
import { STATUS_OPERATIONS } from "./status_operations.ts";
import { TASK_OPERATIONS } from "./task_operations.ts";
import { WAIT_OPERATIONS } from "./wait_operations.ts";
import { TRIGGER_OPERATIONS } from "./trigger_operations.ts";
import { UPKEEP_OPERATIONS } from "./upkeep_operations.ts";
import { WATCH_OPERATIONS } from "./watch_operations.ts";

/** Every operation, by name. */
export const OPERATIONS = {
  ...STATUS_OPERATIONS,
  ...RESOURCE_OPERATIONS,
  ...WATCH_OPERATIONS,
  ...TASK_OPERATIONS,
  ...WAIT_OPERATIONS,
  ...APPROVAL_OPERATIONS,
  ...TRIGGER_OPERATIONS,
  ...DELIVERY_OPERATIONS,
  ...RECORD_OPERATIONS,
  ...SOURCE_OPERATIONS,
  ...CONVERSATION_OPERATIONS,
  ...ANSWER_OPERATIONS,
  ...CHANGE_OPERATIONS,
  ...OUTPUT_OPERATIONS,
  ...CONNECTION_OPERATIONS,
  ...OUTBOX_OPERATIONS,
  ...MAY_OPERATIONS,
  ...MCP_OPERATIONS,
  ...NOTIFICATION_OPERATIONS,
  ...ACCESS_OPERATIONS,
  ...NODE_OPERATIONS,
  ...PAUSE_OPERATIONS,
  ...SANDBOX_OPERATIONS,
  ...AGENT_OPERATIONS,
  ...UPKEEP_OPERATIONS,
  ...DOCTOR_OPERATIONS,
};

/** Name of an operation. */
export type OperationName = keyof typeof OPERATIONS;

/** Name of an operation that answers in JSON lines. */
export type StreamName = {
  [Name in OperationName]: typeof OPERATIONS[Name]["output"] extends Answer<unknown, "lines"> ? Name
    : never;
}[OperationName];

/** Name of an operation that answers with one JSON value. */
export type CallName = Exclude<OperationName, StreamName>;

/** Name of an operation whose input comes with an attachment. */
export type AttachedName = {
  [Name in CallName]: typeof OPERATIONS[Name]["attachment"] extends Attachment ? Name : never;
}[CallName];

/** Input of an operation. */
export type Input<Name extends OperationName> = InputOf<typeof OPERATIONS[Name]>;

/** Answer of an operation; of a stream, one line. */
export type Output<Name extends OperationName> = OutputOf<typeof OPERATIONS[Name]>;

/** Whether there is an operation of this name. */
export function isOperation(name: string): name is OperationName {
  return Object.hasOwn(OPERATIONS, name);
}

/** The operation of this name, if there is one. */
export function findOperation(name: string): Operation | undefined {
  return isOperation(name) ? OPERATIONS[name] : undefined;
}
