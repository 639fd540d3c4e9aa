/**
 * Options of commands: their definitions, and the types of their values that follow from these.
 *
 * @module
 */

import type { CamelCase } from "../base/camel_case.ts";
import { findDurationSecs, MAX_DURATION } from "../base/duration.ts";
import type { RecordName } from "../resources/record_names.ts";

/**
 * How a shell completes a value: with words of a list; with a `file`; with names or ids of a kind
 * or type of record, given by its singular; with a `name` of the kind in the argument before it;
 * with a `key` of the SecretStore, or a `step` of the task, that an argument or option before it
 * names.
 */
export type Completed = readonly string[] | "file" | "key" | "name" | "step" | CompletedName;

type CompletedName =
  | RecordName
  | "agent"
  | "connection"
  | "notification"
  | "person"
  | "project"
  | "sandbox"
  | "secretstore"
  | "trigger"
  | "workflow"
  | "workspace";

/** One option: flags as they are shown (`-o, --output <format>`), and what it is for. */
export interface OptionDefinition {
  /** Flags and placeholder; `<x>` takes a value, `<x...>` several, none makes it a switch. */
  readonly flags: string;
  /** One line of help. */
  readonly help: string;
  /** Closed list of values. */
  readonly choices?: readonly string[];
  /** How its value is read; if absent, the value is the text as written. */
  readonly value?: OptionValue<unknown>;
  /**
   * What a shell completes its value with, unless `choices` or a placeholder such as `<file>`
   * implies it.
   */
  readonly complete?: Completed;
  /** Value when it is not given. */
  readonly fallback?: string;
}

/** An option with these flags, whose value is a text or, without a placeholder, a switch. */
export interface OptionWith<Flags extends string> extends OptionDefinition {
  readonly flags: Flags;
}

/** How the value of an option is read. */
export interface OptionValue<Value> {
  /** The values it takes, in the words of a refusal: `a whole number from 1 to 10`. */
  readonly takes: string;
  /** The value that a text means; `undefined` for a text that the option does not take. */
  readonly parse: (text: string) => Value | undefined;
}

/**
 * The values of options by their names in camelCase: a switch is a `boolean`, an option that takes
 * several values is a list, and any other is `undefined` unless it is given or has a fallback.
 */
export type OptionValues<Options extends readonly OptionDefinition[]> = {
  readonly [Option in Options[number] as NameOf<Option["flags"]>]: ValueOf<Option>;
};

type NameOf<Flags extends string> = Flags extends `${string}--${infer Long}`
  ? CamelCase<WithoutNo<Long extends `${infer Name} <${string}` ? Name : Long>>
  : never;

type WithoutNo<Name extends string> = Name extends `no-${infer Rest}` ? Rest : Name;

type ValueOf<Option extends OptionDefinition> = Option extends { value: OptionValue<infer Value> }
  ? Value | Absent<Option>
  : Option["flags"] extends `${string}...>` ? readonly string[]
  : Option["flags"] extends `${string}>` ? TextOf<Option> | Absent<Option>
  : boolean;

type TextOf<Option> = Option extends { choices: readonly (infer Choice)[] } ? Choice : string;

type Absent<Option> = Option extends { fallback: string } ? never : undefined;

/** Largest number that an option takes where it names no other. */
const MOST = 1_000_000_000;

/** The number that a text of at most 15 decimal digits means. */
export function wholeNumber(text: string): number | undefined {
  return /^[0-9]{1,15}$/.test(text) ? Number(text) : undefined;
}

/** A whole number from `least` to `most`. */
export function count(least: number, most = MOST): OptionValue<number> {
  return {
    takes: `a whole number from ${least} to ${most}`,
    parse: (text) => {
      const number = wholeNumber(text) ?? NaN;
      return number >= least && number <= most ? number : undefined;
    },
  };
}

/** A span of time; `read` makes the value of its seconds and of the text as it was written. */
export function duration<Value>(
  read: (secs: number, written: string) => Value,
): OptionValue<Value> {
  return {
    takes: `a duration such as 30m, 1h or 7d, ${MAX_DURATION} at most`,
    parse: (text) => {
      const secs = findDurationSecs(text);
      return secs === undefined ? undefined : read(secs, text);
    },
  };
}

/** A span of time, in seconds. */
export const DURATION: OptionValue<number> = duration((secs) => secs);
