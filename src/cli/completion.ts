/**
 * Completes a command line for a shell: finds the value under the cursor, and its candidates from
 * the definitions of the commands, or from the daemon for names and ids.
 *
 * @module
 */

import type { Client } from "../api/client.ts";
import { camelCase } from "../base/camel_case.ts";
import { defined } from "../base/defined.ts";
import { findRecordName, type RecordName } from "../resources/record_names.ts";
import { DEFAULT_PROJECT } from "../resources/resource.ts";
import { type ArgumentDefinition, type Command } from "./command.ts";
import { type Completed, type OptionDefinition } from "./option.ts";

/** The long and short flags of an option, in the order in which they are written. */
export function flagsOf({ flags }: OptionDefinition): readonly string[] {
  return flags.match(/(?<![\w-])--?[A-Za-z][\w-]*/g) ?? [];
}

/** The completion of the value of an option; `undefined` for a switch and for free text. */
export function completedOption(option: OptionDefinition): Completed | undefined {
  return option.complete ?? option.choices ?? fileOf(option.flags);
}

/** The completion of the argument at `index`; the last argument may be repeated. */
export function completedArgument(
  { arguments: given = [] }: Command,
  index: number,
): Completed | undefined {
  const last = given.at(-1);
  const found = given[index] ?? (last?.name.includes("...") === true ? last : undefined);
  return found === undefined ? undefined : found.complete ?? fileOf(found.name);
}

function fileOf(placeholder: ArgumentDefinition["name"]): Completed | undefined {
  return /[<[](file|dir|path)(\.\.\.)?[>\]]/.test(placeholder) ? "file" : undefined;
}

/** The value under the cursor. */
export interface Cursor {
  readonly complete: Completed | undefined;
  /** The part of it that is typed so far. */
  readonly begun: string;
  /** Values of the options before it, by name in camelCase. */
  readonly options: Readonly<Record<string, string>>;
  /** The arguments before it. */
  readonly positional: readonly string[];
}

/**
 * Finds the value under the cursor, which is the last of the words that follow a command's own;
 * `--flag=value` may be three words, which bash makes of it.
 */
export function cursorAt(words: readonly string[], command: Command): Cursor {
  const options: Record<string, string> = {};
  const positional: string[] = [];
  let pending: OptionDefinition | undefined;
  for (const word of words.slice(0, -1)) {
    if (pending !== undefined) {
      if (word === "=") continue;
      options[nameOf(pending)] = word;
      pending = undefined;
      continue;
    }
    const { option, value } = splitOption(word, command);
    if (!word.startsWith("-")) positional.push(word);
    else if (option !== undefined && value !== undefined) options[nameOf(option)] = value;
    else if (option?.flags.includes("<") === true) pending = option;
  }
  const begun = words.at(-1) ?? "";
  const cursor = { begun, options, positional };
  if (pending !== undefined) return { ...cursor, complete: completedOption(pending) };
  if (!begun.startsWith("-")) {
    return { ...cursor, complete: completedArgument(command, positional.length) };
  }
  const { option, value = "" } = splitOption(begun, command);
  const complete = option === undefined ? undefined : completedOption(option);
  return { begun: value, options, positional, complete };
}

/** The option that a word is or begins with, and its value in `--flag=value`. */
function splitOption(word: string, command: Command) {
  const [flag = "", ...rest] = word.split("=");
  const value = rest.length === 0 ? undefined : rest.join("=");
  return { option: optionOf(flag, command), value };
}

function optionOf(flag: string, { options = [] }: Command): OptionDefinition | undefined {
  return options.find((option) => flagsOf(option).includes(flag));
}

function nameOf(option: OptionDefinition): string {
  const long = flagsOf(option).find((flag) => flag.startsWith("--")) ?? "";
  return camelCase(long.slice(2));
}

/** A value that is offered. */
export interface Candidate {
  readonly value: string;
  /** One line about it; empty if the value explains itself. */
  readonly about: string;
}

/** The client and the project with which the daemon is asked. */
export interface CandidateSource {
  readonly client: Client;
  /** The project that was named with an option or in the environment. */
  readonly project?: string;
  readonly signal: AbortSignal;
}

/**
 * The candidates for the value under the cursor: records newest first, the rest in its own order.
 *
 * @throws {AppError} the refusals of the daemon.
 */
export async function candidates(
  cursor: Cursor,
  source: CandidateSource,
): Promise<readonly Candidate[]> {
  const found = await allCandidates(cursor, source);
  return found.filter(({ value }) => value.startsWith(cursor.begun));
}

async function allCandidates(
  cursor: Cursor,
  source: CandidateSource,
): Promise<readonly Candidate[]> {
  const { complete, begun, options, positional } = cursor;
  if (complete === undefined || complete === "file") return [];
  if (typeof complete !== "string" && !begun.includes("/")) return complete.map(plain);
  const [first = ""] = positional;
  switch (complete) {
    case "key":
      return await keysOf(options["secretRef"] ?? first, source);
    case "step":
      return await stepsOf(first, source);
    case "name":
      return await named(first, source);
    default: {
      if (typeof complete === "string") return await named(complete, source);
      const kind = begun.slice(0, begun.indexOf("/"));
      const found = await named(kind, source);
      return found.map(({ value, about }) => ({ value: `${kind}/${value}`, about }));
    }
  }
}

function plain(value: string): Candidate {
  return { value, about: "" };
}

/** Number of the newest records that are offered. */
const OFFERED = 50;

async function named(
  what: string,
  { client, project, signal }: CandidateSource,
): Promise<readonly Candidate[]> {
  const record = findRecordName(what);
  const input = record === undefined
    ? { what, project: project ?? DEFAULT_PROJECT }
    : { what, limit: OFFERED, ...defined({ project }) };
  const { items, names } = await client.call("get", input, signal);
  const found = names.map((name, at) => ({
    value: name.slice(name.indexOf("/") + 1),
    about: record === undefined ? "" : aboutRecord(items[at] ?? {}),
  }));
  const hasLatest = record !== undefined && found.length > 0 && NEWEST.includes(record);
  return hasLatest ? [{ value: "latest", about: found[0]?.about ?? "" }, ...found] : found;
}

/** Records of which `latest` is offered. */
const NEWEST: readonly RecordName[] = ["task", "delivery", "source-event"];

function aboutRecord(item: Readonly<Record<string, unknown>>): string {
  return [item["trigger"] ?? item["name"], item["state"] ?? item["outcome"] ?? item["role"]]
    .filter((text) => typeof text === "string" && text !== "").join(" ");
}

async function keysOf(
  name: string,
  { client, project, signal }: CandidateSource,
): Promise<readonly Candidate[]> {
  const wanted = { what: "secretstore", name, project: project ?? DEFAULT_PROJECT, reveal: false };
  const { spec } = await client.call("describe", wanted, signal) as {
    spec?: { data?: Record<string, unknown> };
  };
  return Object.keys(spec?.data ?? {}).map(plain);
}

async function stepsOf(
  id: string,
  { client, signal }: CandidateSource,
): Promise<readonly Candidate[]> {
  const { steps = [] } = await client.call("task", { id }, signal) as {
    steps?: readonly { id: string; state: string }[];
  };
  return steps.map((step) => ({ value: step.id, about: step.state }));
}
