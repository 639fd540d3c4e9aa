/**
 * Tools of an agent in a step that work with files of its step: REGISTRY of those that begin or end at
 * the daemon, and those that do not need it.
 *
 * @module
 */

import type { Client } from "../api/client.ts";
import type { Input } from "../api/operations.ts";
import { utf8 } from "../base/bytes.ts";
import { AppError } from "../base/errors.ts";
import { type ForgeName, FORGES, PULL_OPERATIONS } from "../base/forge_names.ts";
import { fileFault } from "../base/file_fault.ts";
import { type JsonObject, toJson } from "../base/json.ts";
import type { Piece } from "../base/outside_marks.ts";
import { RegularFile } from "../base/regular_file.ts";
import type { CallableTool } from "./callable_tool.ts";

/** The step in which `svc mcp` runs, and its files, as its environment names them. */
export interface StepFiles {
  readonly taskId: string;
  /** Where its outputs go, as lines of `key=value`. */
  readonly output: string | undefined;
  /** The payload of its event. */
  readonly payload: string | undefined;
  /** The goal of its task, with marks around text from outside. */
  readonly goal: string | undefined;
  /** Packs the working tree around the current directory, if the task may do that with it. */
  readonly packChange: (wanted: WantedChange, call: StepCall) => Promise<HandedChange>;
}

/** What a change is packed for. */
export interface WantedChange {
  readonly forge: ForgeName;
  readonly output: "pull" | "push";
  /** Name of the pull. */
  readonly key?: string;
}

/** A change as an operation takes it; dispose it once it is sent. */
export interface HandedChange extends AsyncDisposable {
  readonly input: { readonly task: string; readonly start: string; readonly tree: string };
  readonly sending: { readonly attachment: Uint8Array<ArrayBuffer>; readonly signal: AbortSignal };
}

/** What a tool of a step works with. */
export interface StepCall {
  readonly client: Client;
  readonly step: StepFiles;
  readonly signal: AbortSignal;
}

/** An operation that a step calls with something of its own. */
type StepTool = (given: JsonObject, call: StepCall) => Promise<readonly Piece[]>;

/** The operations that a step calls with something of its own, by name. */
export const STEP_TOOLS: Readonly<Record<string, StepTool>> = {
  "task.look": lookAtTask,
  ...Object.fromEntries(FORGES.flatMap(changeTools)),
};

/** Those that hand a change over to a forge. */
function changeTools(forge: ForgeName): readonly (readonly [name: string, tool: StepTool])[] {
  const { create } = PULL_OPERATIONS[forge];
  const push = `${forge}.push` as const;
  return [
    [create, async (given, call) => {
      const key = typeof given["key"] === "string" ? { key: given["key"] } : {};
      await using change = await call.step.packChange({ forge, output: "pull", ...key }, call);
      const asked = { ...given, ...change.input } as Input<typeof create>;
      return answer(await call.client.callWith(create, asked, change.sending));
    }],
    [push, async (given, call) => {
      await using change = await call.step.packChange({ forge, output: "push" }, call);
      const asked = { ...given, ...change.input } as Input<typeof push>;
      const { commit_object: _object, ...queued } = await call.client.callWith(
        push,
        asked,
        change.sending,
      );
      return answer(queued);
    }],
  ];
}

const answer = (value: unknown): readonly Piece[] => [{ text: toJson(value) }];

/** The tools of a step that the daemon has no part in. */
export function ownTools(step: StepFiles): readonly CallableTool[] {
  return step.output === undefined ? [] : [outputTool(step.output)];
}

async function lookAtTask(
  _given: JsonObject,
  { client, step, signal }: StepCall,
): Promise<readonly Piece[]> {
  const { subject, ...task } = await client.call("task.look", { task: step.taskId }, signal);
  const goal = readStart(step.goal);
  const event = readStart(step.payload);
  return [
    { text: `Task: ${toJson(task)}\n` },
    ...subject === null ? [] : [{ text: `Subject: ${toJson(subject)}\n` }],
    ...goal === undefined ? [] : [{ text: `Goal: ${goal}\n` }],
    ...event === undefined ? [] : [{ text: "Event: " }, { text: event, origin: "payload" }],
  ];
}

/** Most bytes of a file that a tool shows; there is more than it can show in them. */
const MOST_SHOWN = 256 * 1024;

/** The beginning of a file; `undefined` if there is none. */
function readStart(path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  try {
    using file = RegularFile.open(path);
    const buffer = new Uint8Array(MOST_SHOWN);
    return new TextDecoder().decode(buffer.subarray(0, file.readSync(buffer)));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw new AppError("refused", `"${path}" cannot be read: ${fileFault(error)}`);
  }
}

const OUTPUT_KEY = "^[A-Za-z_][A-Za-z0-9_-]{0,99}$";
/** Most characters of an output, as many as the result of an agent has. */
const MOST_OUTPUT = 128 * 1024;

function outputTool(path: string): CallableTool {
  return {
    name: "output_set",
    description: "Sets an output of this step, which later steps and the report of the task " +
      "read. A value is one line: write several as JSON. The last value of a key counts.",
    input_schema: {
      type: "object",
      properties: {
        key: {
          type: "string",
          pattern: OUTPUT_KEY,
          title: "a name of letters, digits, _ and -, which begins with no digit",
        },
        value: { type: "string", maxLength: MOST_OUTPUT },
      },
      required: ["key", "value"],
      additionalProperties: false,
    },
    read_only: false,
    from_outside: false,
    run: ({ key, value }) => {
      setOutput(path, String(key), String(value));
      return Promise.resolve([{ text: `${key} is set` }]);
    },
  };
}

function setOutput(path: string, key: string, value: string): void {
  if (/[\r\n]/.test(value)) {
    throw new AppError("invalid", "An output is one line: write several lines as JSON");
  }
  try {
    using file = RegularFile.open(path, { for: "append" });
    file.writeSync(utf8(`\n${key}=${value}\n`)); // a script may have left a line without its end
  } catch (error) {
    throw new AppError("refused", `The outputs cannot be written: ${fileFault(error)}`);
  }
}
