/**
 * The types of settings: how `daemon.yaml` writes a value, which values are valid, and how the daemon
 * reads them.
 *
 * @module
 */

import { findDurationSecs } from "../base/duration.ts";

/** A value as `daemon.yaml` has it; a flag is brought into the same form. */
export type SettingValue = string | number | boolean | readonly string[];

/** A type of settings, whose values the daemon reads as a `Value`. */
export interface SettingType<Value> {
  /** A path in the file starts at the data directory, one in a flag in the working directory. */
  readonly kind: "text" | "path" | "count" | "duration" | "list" | "switch";
  /** The values it takes, in the words of a refusal: `10s to 10m`. */
  readonly takes: string;
  /** JSON Schema of a value in the file. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** Closed list of values. */
  readonly choices?: readonly string[];
  /** The meaning of a value; `undefined` for a value that the setting does not take. */
  readonly parse: (written: SettingValue) => Value | undefined;
}

/** A text that `parse` knows how to read; it returns `undefined` for any other. */
export function text<Value>(
  takes: string,
  parse: (text: string) => Value | undefined,
): SettingType<Value> {
  const schema = { type: "string", minLength: 1 };
  return { kind: "text", takes, schema, parse: (written) => parse(String(written)) };
}

/** One of a closed list of texts. */
export function oneOf<Choice extends string>(choices: readonly Choice[]): SettingType<Choice> {
  return {
    kind: "text",
    takes: choices.join(", "),
    schema: { enum: [...choices] },
    choices,
    parse: (written) => choices.find((choice) => choice === written),
  };
}

/** The path of a file or directory. */
export const PATH: SettingType<string> = { ...text("a path", (path) => path), kind: "path" };

/** `true` or `false`; as a flag it takes no value. */
export const SWITCH: SettingType<boolean> = {
  kind: "switch",
  takes: "true or false",
  schema: { type: "boolean" },
  parse: (written) => typeof written === "boolean" ? written : undefined,
};

/** The type of a whole number from `least` to `most`. */
export function count(least: number, most: number): SettingType<number> {
  const takes = `a whole number from ${least} to ${most}`;
  return {
    kind: "count",
    takes,
    schema: { type: "integer", minimum: least, maximum: most, title: takes },
    parse: (written) =>
      typeof written === "number" && written >= least && written <= most ? written : undefined,
  };
}

/** A duration of at least `least` and at most `most` seconds, which `read` turns into a value. */
export function duration<Value>(
  { takes, least, most = Infinity }: {
    readonly takes: string;
    readonly least: number;
    readonly most?: number;
  },
  read: (secs: number, written: string) => Value,
): SettingType<Value> {
  return {
    kind: "duration",
    takes,
    schema: {
      type: ["integer", "string"],
      minLength: 1,
      title: 'a duration: whole seconds, or text such as "12h"',
    },
    parse: (written) => {
      const secs = findDurationSecs(typeof written === "number" ? written : String(written));
      return secs === undefined || secs < least || secs > most
        ? undefined
        : read(secs, String(written));
    },
  };
}

/** Texts that `fits` accepts. Each text may hold several, separated by commas. */
export function list(
  takes: string,
  fits: (item: string) => boolean = () => true,
): SettingType<readonly string[]> {
  return {
    kind: "list",
    takes,
    schema: { type: "array", items: { type: "string", minLength: 1 } },
    parse: (written) => {
      const items = itemsOf(written);
      return items.every(fits) ? items : undefined;
    },
  };
}

/** The items of a written list. */
export function itemsOf(written: SettingValue): readonly string[] {
  return [written].flat().flatMap((text) => String(text).split(","));
}
