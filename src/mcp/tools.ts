/**
 * The tools of one caller: those that the daemon lists for it, and those of its step. A call of a tool
 * is a call of an operation with the same rights, or of a function of `step_tools.ts`.
 *
 * @module
 */

import type { Client } from "../api/client.ts";
import type { ToolView } from "../api/mcp_operations.ts";
import type { AttachedName, CallName, Input, StreamName } from "../api/operations.ts";
import { AppError } from "../base/errors.ts";
import type { JsonObject } from "../base/json.ts";
import { markOutside, secretWord } from "../base/outside_marks.ts";
import { bounded, StreamText, textOfAnswer } from "./answer_text.ts";
import type { CallableTool } from "./callable_tool.ts";
import type { SessionTools } from "./session.ts";
import { ownTools, STEP_TOOLS, type StepFiles } from "./step_tools.ts";

/** The caller, and what it asks for. */
export interface ToolsHost {
  readonly client: Client;
  /** With `operator` also tools that change something. */
  readonly role: "read_only" | "operator";
  /** The step in which this runs; absent for a person. */
  readonly step?: StepFiles;
}

/** The tools of a caller. */
export class Tools implements SessionTools {
  readonly #host: ToolsHost;
  /** Those that were listed last. */
  #listed: readonly CallableTool[] | undefined;

  constructor(host: ToolsHost) {
    this.#host = host;
  }

  /** Asks the daemon which tools there are. */
  async list(signal: AbortSignal): Promise<readonly JsonObject[]> {
    return (await this.#ask(signal)).map(({ name, description, input_schema, read_only }) => ({
      name,
      description,
      inputSchema: input_schema,
      annotations: { readOnlyHint: read_only, openWorldHint: false },
    }));
  }

  /** Calls a tool. What its operation refuses is a result that says so, for the model to read. */
  async call(
    name: string,
    given: JsonObject,
    signal: AbortSignal,
  ): Promise<JsonObject | undefined> {
    const tool = (this.#listed ?? await this.#ask(signal)).find((one) => one.name === name);
    if (tool === undefined) return undefined;
    try {
      const pieces = await tool.run(await complete(given, tool), signal);
      return resultOf(markOutside(pieces.map(bounded), secretWord));
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return { ...resultOf([error.message, ...error.details].join("\n")), isError: true };
    }
  }

  async #ask(signal: AbortSignal): Promise<readonly CallableTool[]> {
    const { client, role, step } = this.#host;
    const asked = step === undefined ? { role } : { task: step.taskId };
    const { task_id, tools } = await client.call("mcp.tools", asked, signal);
    const callable = tools.map((view) => this.#callable(view));
    const own = task_id === null || step === undefined ? [] : ownTools(step);
    return this.#listed = [...callable, ...own];
  }

  #callable({ operation, streams, bound, ...tool }: ToolView): CallableTool {
    const { client, step } = this.#host;
    const inStep = STEP_TOOLS[operation];
    if (step !== undefined && inStep !== undefined) {
      return { ...tool, run: (given, signal) => inStep(given, { client, step, signal }) };
    }
    // The daemon has listed the operation, and checks the input against its schema.
    const inputOf = (given: JsonObject) => ({ ...given, ...bound }) as never;
    const origin = tool.from_outside ? { origin: tool.name } : {};
    return {
      ...tool,
      run: async (given, signal) => [{
        text: streams
          ? await textOfStream(client, operation as StreamName, inputOf(given), signal)
          : textOfAnswer(
            operation,
            await client.call(operation as Exclude<CallName, AttachedName>, inputOf(given), signal),
          ),
        ...origin,
      }],
    };
  }
}

async function textOfStream(
  client: Client,
  operation: StreamName,
  input: Input<StreamName>,
  signal: AbortSignal,
): Promise<string> {
  const text = new StreamText(operation);
  for await (const line of client.stream(operation, input, signal)) text.add(line);
  return text.end();
}

const resultOf = (text: string): JsonObject => ({ content: [{ type: "text", text }] });

/**
 * The arguments with the defaults of the schema.
 *
 * @throws {AppError} `invalid` when they do not fit it.
 */
async function complete(
  given: JsonObject,
  { name, input_schema: schema }: CallableTool,
): Promise<JsonObject> {
  const { compileSchema } = await import("../resources/validate.ts"); // a package, and only here
  const [first, ...details] = compileSchema(schema).check(given).map(({ path, message }) =>
    path.length === 0 ? message : `${path.join(".")}: ${message}`
  );
  if (first !== undefined) {
    throw new AppError("invalid", `Invalid arguments for "${name}": ${first}`, { details });
  }
  const { properties } = schema as { readonly properties: Readonly<Record<string, JsonObject>> };
  const defaults = Object.entries(properties).filter(([, field]) => "default" in field)
    .map(([field, { default: value }]) => [field, value]);
  return { ...Object.fromEntries(defaults), ...given };
}
