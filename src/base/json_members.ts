/**
 * Finds members of a JSON object in one pass, without parsing the other values: for bodies whose sender
 * is not authenticated yet. In valid JSON it finds exactly what a parser finds, because it reads strings
 * as strings. A name that occurs twice, which parsers treat differently, is refused.
 *
 * ```ts
 * import { findMembers, textOf } from "./json_members.ts";
 * import { strictEqual as equal } from "node:assert/strict";
 *
 * const found = findMembers('{"a": {"b": [1]}, "c": "x\\n"}', ["a", "c"]);
 * equal(found?.["a"], '{"b": [1]}');
 * equal(textOf(found?.["c"]), "x\n");
 * equal(findMembers('{"a": 1, "\\u0061": 2}', ["a"]), undefined);
 * ```
 *
 * @module
 */

/** Longest text, unless the caller sets another limit; events of the platforms that need it are far shorter. */
export const MAX_SCANNED = 1024 * 1024;

/**
 * The JSON of the members with these names; `undefined` if the text does not look like an object, is
 * longer than `maxLength`, or has one of the names twice.
 */
export function findMembers(
  json: string,
  names: readonly string[],
  maxLength = MAX_SCANNED,
): Readonly<Record<string, string>> | undefined {
  if (json.length > maxLength) return undefined;
  const members = new Map<string, string>();
  let at = afterBlanks(json, 0);
  if (json[at] !== "{") return undefined;
  at = afterBlanks(json, at + 1);
  while (json[at] === '"') {
    const nameEnd = endOfString(json, at);
    const written = json.slice(at, nameEnd);
    const name = written.includes("\\") ? textOf(written) : written.slice(1, -1);
    at = afterBlanks(json, nameEnd);
    if (name === undefined || json[at] !== ":") return undefined;
    const start = afterBlanks(json, at + 1);
    const end = endOfValue(json, start);
    if (end === start) return undefined;
    if (names.includes(name)) {
      if (members.has(name)) return undefined;
      members.set(name, json.slice(start, end));
    }
    at = afterBlanks(json, end);
    if (json[at] !== ",") break;
    at = afterBlanks(json, at + 1);
    if (json[at] !== '"') return undefined;
  }
  const isWhole = json[at] === "}" && afterBlanks(json, at + 1) === json.length;
  return isWhole ? Object.fromEntries(members) : undefined;
}

/** The text of a JSON string; `undefined` for other JSON, or if it is absent. */
export function textOf(json: string | undefined): string | undefined {
  if (json === undefined || !json.startsWith('"')) return undefined;
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}

const BLANKS = " \t\r\n";

function afterBlanks(json: string, from: number): number {
  let at = from;
  while (at < json.length && BLANKS.includes(json[at] ?? "")) at++;
  return at;
}

/** The index after the string that begins at `from`; the end of the text if the string does not end. */
function endOfString(json: string, from: number): number {
  let at = from + 1;
  while (at < json.length && json[at] !== '"') at += json[at] === "\\" ? 2 : 1;
  return Math.min(at + 1, json.length);
}

/** The index after the value that begins at `from`. */
function endOfValue(json: string, from: number): number {
  let depth = 0;
  let at = from;
  while (at < json.length) {
    const char = json[at] ?? "";
    if (char === '"') {
      at = endOfString(json, at);
      if (depth === 0) return at;
    } else if (char === "{" || char === "[") {
      depth++;
      at++;
    } else if (char === "}" || char === "]") {
      if (depth === 0) return at;
      at++;
      if (--depth === 0) return at;
    } else if (depth === 0 && (char === "," || BLANKS.includes(char))) {
      return at;
    } else {
      at++;
    }
  }
  return at;
}
