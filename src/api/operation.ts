/**
 * What an operation of the control plane is: its name in a list (`operations.ts`), and here what it
 * takes, what it gives and who may use it. Client, server and every list of operations read that
 * one definition; the code that carries an operation out is in `src/control`, and typed by it.
 *
 * @module
 */

import Type, { type Static, type TObject, type TProperties } from "typebox";
import { MAX_DURATION_SECS } from "../base/duration.ts";
import type { Access } from "./roles.ts";

/** The answer of an operation: its form, and for the compiler its type. */
export interface Output<Value = unknown, Form extends "json" | "lines" = "json" | "lines"> {
  /** `json` is one value; `lines` is one JSON value a line, as they come. */
  readonly form: Form;
  /** Never there: it carries the type. */
  readonly value?: Value;
}

/** One operation, as its file defines it; nobody may do what it does not say. */
export interface Definition<Fields extends TProperties, Given extends Output>
  extends Partial<Access<keyof Fields & string>> {
  /** What it does, in one line. */
  readonly summary: string;
  /** The fields of its input; any other field is refused. */
  readonly input: Fields;
  readonly output: Given;
}

/** One operation. */
export interface Operation<Fields extends TProperties = TProperties, Given extends Output = Output>
  extends Access {
  /** What it does, in one line. */
  readonly summary: string;
  /** What it takes: a JSON object of exactly these fields. */
  readonly input: TObject<Fields>;
  readonly output: Given;
}

/**
 * Defines an operation. One without `role` is for admins, one without `grants` for no run token.
 */
export function defineOperation<Fields extends TProperties, Given extends Output>(
  { summary, input, output, role = "admin", grants = {} }: Definition<Fields, Given>,
): Operation<Fields, Given> {
  return {
    summary,
    role,
    grants,
    input: Type.Object(input, { additionalProperties: false }),
    output,
  };
}

/** An answer that is one JSON value. */
export function json<Value>(): Output<Value, "json"> {
  return { form: "json" };
}

/** An answer of JSON lines, each a `Line`, until there is no more or the client goes. */
export function lines<Line>(): Output<Line, "lines"> {
  return { form: "lines" };
}

/** Nothing of an input is changed by what carries the operation out. */
type Unchanged<Value> = Value extends readonly (infer Item)[] ? readonly Unchanged<Item>[]
  : Value extends object ? { readonly [Key in keyof Value]: Unchanged<Value[Key]> }
  : Value;

/** What an operation takes. */
export type InputOf<One extends Operation> = keyof One["input"]["properties"] extends never
  ? Readonly<Record<string, never>>
  : Unchanged<Static<One["input"]>>;

/** What an operation answers; of one that streams, a line. */
export type OutputOf<One extends Operation> = One["output"] extends Output<infer Value> ? Value
  : never;

/** Any text. */
export const TEXT = Type.String();
/** Any text, or none. */
export const OPTIONAL_TEXT = Type.Optional(TEXT);
/** The name of a project; `default` when it is left out, where one thing is named. */
export const PROJECT = OPTIONAL_TEXT;
/** The beginning of an id, as far as only one starts so. */
export const ID = TEXT;
/** A span of time in whole seconds. */
export const SECS = Type.Integer({
  minimum: 0,
  maximum: MAX_DURATION_SECS,
  title: `whole seconds, from 0 to ${MAX_DURATION_SECS}`,
});
/** A span of time in whole seconds, or none. */
export const OPTIONAL_SECS = Type.Optional(SECS);
