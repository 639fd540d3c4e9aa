/**
 * The definition of an operation of the control plane: its input, its output and the access it
 * needs. Its name is in `operations.ts`. Client, server and every list of operations read this one
 * definition; the handler is in `src/control`, and typed by it.
 *
 * @module
 */

import Type, { type Static, type TObject, type TProperties, type TString } from "typebox";
import { defined } from "../base/defined.ts";
import { MAX_DURATION_SECS } from "../base/duration.ts";
import type { ForgeName } from "../base/forge_names.ts";
import type { OutputName } from "../resources/may.ts";
import type { RecordName } from "../resources/record_names.ts";
import type { Access } from "./roles.ts";

/** The answer of an operation: its form, and for the compiler its type. */
export interface Output<Value = unknown, Form extends "json" | "lines" = "json" | "lines"> {
  /** `json` is one value; `lines` is a stream with one JSON value a line. */
  readonly form: Form;
  /** Never set: it only carries the type. */
  readonly value?: Value;
}

/** Bytes that come along with an input, such as a pack of git. */
export interface Attachment {
  readonly maxBytes: number;
}

/** How language models use an operation, as a tool of `svc mcp`. */
export interface Tool {
  /** `person`: for a person's own agent; `step`: for an agent in a step, with its own task only. */
  readonly for: "person" | "step";
  /** Its name; if absent, that of the operation with `_` in place of `.`. */
  readonly name?: string;
  /** What a model needs to know to choose it, and to give it the right arguments. */
  readonly description: string;
  /** Whether it changes nothing, so that a person's model has it without being given a role. */
  readonly readOnly: boolean;
  /** Whether its answer has text that someone else wrote, so that it is marked. */
  readonly fromOutside: boolean;
  /** Its arguments, where they are fewer or narrower than the fields of the operation. */
  readonly input?: TProperties;
  /** What `may` has to have, by its name there; absent for what every step may. */
  readonly output?: OutputName;
  /** The forge whose events bring the tasks that have it; absent for those of any event. */
  readonly forge?: ForgeName;
}

/** One operation, as its file defines it; access that it does not grant is refused. */
export interface Definition<
  Fields extends TProperties,
  Given extends Output,
  Attached extends Attachment | undefined,
> extends Partial<Access<keyof Fields & string>> {
  readonly summary: string;
  /** The fields of its input; any other field is refused. */
  readonly input: Fields;
  readonly output: Given;
  /** Whether it changes something; what needs more than the role `read_only` does when absent. */
  readonly changes?: boolean;
  /** Whether the pages of the console may call it; they may not when absent. */
  readonly console?: true;
  /** The bytes that come along with each input; none when absent. */
  readonly attachment?: Attached;
  /** Makes it a tool of `svc mcp`; it is none when absent. */
  readonly tool?: Tool;
}

/** The definition of an operation, which server and client share. */
export interface Operation<
  Fields extends TProperties = TProperties,
  Given extends Output = Output,
  Attached extends Attachment | undefined = Attachment | undefined,
> extends Access {
  readonly summary: string;
  /** The schema of the input: a JSON object of exactly these fields. */
  readonly input: TObject<Fields>;
  readonly output: Given;
  /** Whether it changes something. */
  readonly changes: boolean;
  /** Whether the pages of the console may call it. */
  readonly console: boolean;
  /** The bytes that come along with each input, if any do. */
  readonly attachment: Attached;
  readonly tool?: Tool & {
    /** The schema of its arguments, those included that a run token decides on. */
    readonly arguments: TObject;
  };
}

/**
 * Defines an operation. One without `role` is for admins, one without `grants` for no run token, one
 * without `console` for no page of the console, one without `tool` for no language model.
 */
export function defineOperation<
  Fields extends TProperties,
  Given extends Output,
  Attached extends Attachment | undefined = undefined,
>(
  definition: Definition<Fields, Given, Attached>,
): Operation<Fields, Given, Attached> {
  const { summary, input, output, role = "admin", grants = {}, console, attachment, tool } =
    definition;
  return {
    summary,
    role,
    grants,
    changes: definition.changes ?? role !== "read_only",
    console: console === true,
    input: Type.Object(input, { additionalProperties: false }),
    output,
    attachment: attachment as Attached,
    ...defined({
      tool: tool && {
        ...tool,
        arguments: Type.Object(tool.input ?? input, { additionalProperties: false }),
      },
    }),
  };
}

/** The secrets in an input of this operation. */
export function secretsIn(
  { input: { properties } }: Pick<Operation, "input">,
  input: Readonly<Record<string, unknown>>,
): string[] {
  return Object.entries(input).flatMap(([name, value]) =>
    typeof value === "string" && "writeOnly" in (properties[name] ?? {}) ? [value] : []
  );
}

/** An answer that is one JSON value. */
export function json<Value>(): Output<Value, "json"> {
  return { form: "json" };
}

/** An answer of JSON lines, each a `Line`, until the last one or until the client disconnects. */
export function lines<Line>(): Output<Line, "lines"> {
  return { form: "lines" };
}

/** Read-only view of an input: no handler changes it. */
type DeepReadonly<Value> = Value extends readonly (infer Item)[] ? readonly DeepReadonly<Item>[]
  : Value extends object ? { readonly [Key in keyof Value]: DeepReadonly<Value[Key]> }
  : Value;

/** Input of an operation. */
export type InputOf<One extends Operation> = keyof One["input"]["properties"] extends never
  ? Readonly<Record<string, never>>
  : DeepReadonly<Static<One["input"]>>;

/** Answer of an operation; of a stream, one line. */
export type OutputOf<One extends Operation> = One["output"] extends Output<infer Value> ? Value
  : never;

/** Schema of a text of any length. */
export const TEXT = Type.String();
/** A text that is secret: it is in no error, audit row or line of the log. */
export const SECRET = Type.String({ writeOnly: true });
/** Texts by name. */
export const VALUES = Type.Optional(Type.Record(Type.String(), Type.String()));
/** Any text, or none. */
export const OPTIONAL_TEXT = Type.Optional(TEXT);
/** The name of a project. If the operation takes the name of a resource, the default is `default`. */
export const PROJECT = OPTIONAL_TEXT;

/**
 * Schema of the reference to a record: its id, a part that no other id has, `task/ID`, or `latest`.
 * The server puts the whole id in its place before the operation runs.
 */
export function reference(record: RecordName): TString {
  return Type.String({ description: `Id of one ${record}, or a part of it`, record });
}

/** Schema of the reference to a task. */
export const TASK = reference("task");
/** Schema of the reference to a delivery. */
export const DELIVERY = reference("delivery");
/** Names one event of a chat platform. */
export const SOURCE_EVENT = reference("source-event");

/** Names one message of the outbox. */
export const MESSAGE = reference("outbox");

/** A span of time in whole seconds. */
export const SECS = Type.Integer({
  minimum: 0,
  maximum: MAX_DURATION_SECS,
  title: `whole seconds, from 0 to ${MAX_DURATION_SECS}`,
});
/** A span of time in whole seconds, or none. */
export const OPTIONAL_SECS = Type.Optional(SECS);
