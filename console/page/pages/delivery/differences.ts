/**
 * The differences between two requests. Pure. Senders choose size and depth of payloads, so the
 * work here grows only linearly with them: names and texts are made only for the differences on the
 * screen.
 *
 * @module
 */

import {
  ExactNumber,
  expressionOf,
  findJson,
  type JsonValue,
  membersOf,
  plainText,
} from "../../parts/json_value.ts";

/** A place at which the two requests differ. */
export interface Difference {
  /** The name of the place: a header, an expression for a value of the payload, or a line. */
  readonly name: () => string;
  /** The value of the left request; `undefined` if it has none. */
  readonly left: () => string | undefined;
  readonly right: () => string | undefined;
}

/** The differences, and the number of equal values or lines. */
export interface Differences {
  readonly different: readonly Difference[];
  readonly same: number;
}

/** Compares two sets of headers. */
export function compareHeaders(
  left: Readonly<Record<string, string>>,
  right: Readonly<Record<string, string>>,
): Differences {
  const [before, after] = [new Map(Object.entries(left)), new Map(Object.entries(right))];
  const names = [...new Set([...before.keys(), ...after.keys()])];
  const different = names.filter((name) => before.get(name) !== after.get(name));
  return {
    different: different.map((name) => ({
      name: () => name,
      left: () => before.get(name),
      right: () => after.get(name),
    })),
    same: names.length - different.length,
  };
}

/** Compares two bodies: value by value if both are JSON, else line by line. */
export function compareBodies(left: string, right: string): Differences {
  const [before, after] = [findJson(left), findJson(right)];
  return before === undefined || after === undefined
    ? compareLines(left, right)
    : compareValues(before, after);
}

/** A place in a payload, linked from the value to the root. */
interface Node {
  readonly part: string | number;
  readonly within: Node | undefined;
}

/** The two values at a place; at least one of them exists. */
interface Pair {
  readonly left: JsonValue | undefined;
  readonly right: JsonValue | undefined;
  readonly at: Node | undefined;
}

/** Uses a stack instead of recursion, because a sender can nest a payload to any depth. */
function compareValues(left: JsonValue, right: JsonValue): Differences {
  const different: Difference[] = [];
  let same = 0;
  const open: Pair[] = [{ left, right, at: undefined }];
  for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
    const members = pairsOf(pair);
    if (members !== undefined) {
      for (const one of members.reverse()) open.push(one);
    } else if (isSame(pair)) same++;
    else different.push(differenceOf(pair));
  }
  return { different, same };
}

/**
 * The members of two objects or two lists, in pairs; `undefined` if the values have no members to
 * compare.
 */
function pairsOf({ left, right, at }: Pair): Pair[] | undefined {
  if (left === undefined || right === undefined) return undefined;
  const [before, after] = [membersOf(left), membersOf(right)];
  if (before === undefined || after === undefined) return undefined;
  if (Array.isArray(left) !== Array.isArray(right)) return undefined;
  if (before.length + after.length === 0) return undefined;
  const [ours, theirs] = [new Map(before), new Map(after)];
  return [...new Set([...ours.keys(), ...theirs.keys()])].map((part) => ({
    left: ours.get(part),
    right: theirs.get(part),
    at: { part, within: at },
  }));
}

/** Compares two values without members; two empty lists or two empty objects are the same. */
function isSame({ left, right }: Pair): boolean {
  if (left === undefined || right === undefined) return false;
  const [before, after] = [membersOf(left), membersOf(right)];
  if (before !== undefined || after !== undefined) {
    return before?.length === 0 && after?.length === 0 &&
      Array.isArray(left) === Array.isArray(right);
  }
  return plainText(left) === plainText(right);
}

function differenceOf({ left, right, at }: Pair): Difference {
  return {
    name: () => nameOf(at),
    left: () => left === undefined ? undefined : textOf(left),
    right: () => right === undefined ? undefined : textOf(right),
  };
}

function nameOf(at: Node | undefined): string {
  const place: (string | number)[] = [];
  for (let node = at; node !== undefined; node = node.within) place.push(node.part);
  return expressionOf("payload", place.reverse());
}

function textOf(value: JsonValue): string {
  if (membersOf(value) === undefined) return plainText(value);
  try {
    return JSON.stringify(value, (_name, one) => one instanceof ExactNumber ? one.text : one);
  } catch {
    return "nested too deeply to show";
  }
}

/** Compares the lines between the equal lines at the start and the equal lines at the end. */
function compareLines(left: string, right: string): Differences {
  const [before, after] = [left.split("\n"), right.split("\n")];
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before[start] === after[start]) start++;
  let end = 0;
  while (end < most - start && before.at(-1 - end) === after.at(-1 - end)) end++;
  const count = Math.max(before.length, after.length) - start - end;
  const lineOf = (lines: readonly string[], at: number) =>
    at < lines.length - end ? lines[at] : undefined;
  const different = Array.from({ length: count }, (_, index): Difference => ({
    name: () => `line ${start + index + 1}`,
    left: () => lineOf(before, start + index),
    right: () => lineOf(after, start + index),
  }));
  return { different, same: start + end };
}
