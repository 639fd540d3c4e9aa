/**
 * The tools of `svc mcp`: what a caller may do, as a language model is told of it. What its role, its
 * grants or `may` of its task do not allow is not listed; each operation checks that again when it is
 * called.
 *
 * @module
 */

import type { TaskMay } from "../api/may_operations.ts";
import type { MCP_OPERATIONS, ToolView } from "../api/mcp_operations.ts";
import type { Operation } from "../api/operation.ts";
import { findOperation, type Input, OPERATIONS, type Output } from "../api/operations.ts";
import type { Caller } from "../auth/caller.ts";
import { hasRole } from "../base/roles.ts";
import { AppError } from "../base/errors.ts";
import type { JsonObject } from "../base/json.ts";
import type { OutputName } from "../resources/may.ts";
import { forgesOf, type MayHost, taskMay } from "./outputs/task_may.ts";
import type { Handlers } from "./server/server.ts";
import { lookAtTask } from "./tasks/task_look.ts";

/** The handlers, by name of the operation. */
export function mcpHandlers(
  host: MayHost,
): Pick<Handlers, keyof typeof MCP_OPERATIONS> {
  return {
    "mcp.tools": (input, caller) => listTools(input, caller, host),
    "task.look": (input) => lookAtTask(input, host),
  };
}

/** An operation that is a tool. */
interface Offered {
  readonly name: string;
  readonly operation: Operation;
  readonly tool: NonNullable<Operation["tool"]>;
}

const OFFERED: readonly Offered[] = Object.keys(OPERATIONS).flatMap((name) => {
  const operation = findOperation(name);
  const tool = operation?.tool;
  return operation === undefined || tool === undefined ? [] : [{ name, operation, tool }];
});

async function listTools(
  { role }: Input<"mcp.tools">,
  caller: Caller,
  host: MayHost,
): Promise<Output<"mcp.tools">> {
  const { grant } = caller;
  if (grant === undefined) {
    const mayChange = role === "operator";
    const tools = OFFERED.filter(({ operation, tool }) =>
      tool.for === "person" && (tool.readOnly || mayChange) &&
      hasRole(caller.role, operation.role)
    );
    return { task_id: null, tools: tools.map((one) => viewOf(one, {})) };
  }
  if (grant.taskId === undefined) throw new AppError("forbidden", "This run has no task");
  const { taskId } = grant;
  const forges = await forgesOf(taskId, host);
  const possible = new Set((await Promise.all(forges.map(async (forge) => {
    const may = await taskMay({ forge, input: { task: taskId }, caller }, host);
    return possibleOf(may).map((output) => `${forge} ${output}`);
  }))).flat());
  const tools = OFFERED.flatMap((one) => {
    const { operation: { grants }, tool } = one;
    const scope = grants.step;
    if (tool.for !== "step" || typeof scope !== "object" || scope.own !== "task") return [];
    if (tool.forge !== undefined && !forges.includes(tool.forge)) return [];
    if (tool.output !== undefined && !possible.has(`${tool.forge} ${tool.output}`)) return [];
    return [viewOf(one, { [scope.in]: taskId })];
  });
  return { task_id: taskId, tools };
}

/** The outputs that a step may ask for, where there is a place for them at the forge. */
function possibleOf({ outputs, connection, repository }: TaskMay): readonly OutputName[] {
  const names = outputs.map(({ output }) => output);
  if (connection !== null) return names;
  if (repository === null) return [];
  // The event has no place of its own: `may` names the repository.
  return names.filter((output) => output === "pull" || output === "issue");
}

function viewOf({ name, operation, tool }: Offered, bound: ToolView["bound"]): ToolView {
  return {
    name: tool.name ?? name.replaceAll(".", "_"),
    description: tool.description,
    input_schema: schemaOf(tool.arguments, bound),
    read_only: tool.readOnly,
    from_outside: tool.fromOutside,
    operation: name,
    streams: operation.output.form === "lines",
    bound,
  };
}

/** The schema of arguments, without those that are bound and without words of svc's own. */
function schemaOf(
  { properties, required }: NonNullable<Operation["tool"]>["arguments"],
  bound: ToolView["bound"],
): ToolView["input_schema"] {
  const needed: readonly string[] = required ?? [];
  const isFree = (field: string) => !Object.hasOwn(bound, field);
  const schema = {
    type: "object",
    properties: Object.fromEntries(Object.entries(properties).filter(([field]) => isFree(field))),
    required: needed.filter(isFree),
    additionalProperties: false,
  };
  const text = JSON.stringify(schema, (key, value) => key === "record" ? undefined : value);
  return JSON.parse(text) as JsonObject;
}
