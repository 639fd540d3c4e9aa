/**
 * What an agent says and does, as lines for people.
 *
 * @module
 */

import { isJsonObject } from "../base/json.ts";

/** Most characters of the line that names what a tool was asked to do. */
const MAX_SUMMARY = 200;

/** Fields that say best what a tool was asked to do, the best first. */
const TELLING = [
  "command",
  "cmd",
  "file_path",
  "filePath",
  "path",
  "pattern",
  "query",
  "url",
  "description",
  "prompt",
];

/** A text of an agent, line by line. */
export function linesOf(text: string): readonly string[] {
  const trimmed = text.trimEnd();
  return trimmed === "" ? [] : trimmed.split(/\r?\n/);
}

/** The line that says that a tool is used: `▸ Bash: make test`. */
export function toolLine(name: string, input: unknown): string {
  const what = summary(input);
  return `▸ ${oneLine(name === "" ? "tool" : name, 100)}${what === "" ? "" : `: ${what}`}`;
}

/** The line that says that the API of the model did not answer well, with its status if that is known. */
export function retryLine(status: number | undefined): string {
  return `the model's API failed${status === undefined ? "" : ` with ${status}`}`;
}

/** A text on one line of at most `most` characters. */
export function oneLine(text: string, most = MAX_SUMMARY): string {
  const start = cutText(text, 4 * most);
  const flat = start.replace(/\s+/g, " ").trim();
  const isWhole = start.length === text.length && flat.length <= most;
  return isWhole ? flat : `${cutText(flat, most - 1)}…`;
}

/** The first `most` UTF-16 units of a text, or one fewer where a character would be divided. */
export function cutText(text: string, most: number): string {
  if (text.length <= most) return text;
  const last = text.charCodeAt(most - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? most - 1 : most);
}

/** What a tool was asked to do, in one line. It looks at the outermost fields only. */
function summary(input: unknown): string {
  if (typeof input === "string") return oneLine(input);
  if (!isJsonObject(input)) return "";
  for (const name of TELLING) {
    const value = Object.hasOwn(input, name) ? input[name] : undefined;
    const text = Array.isArray(value) && value.every((one) => typeof one === "string")
      ? value.join(" ")
      : value;
    if (typeof text === "string" && text.trim() !== "") return oneLine(text);
  }
  const parts: string[] = [];
  for (const [name, value] of Object.entries(input).slice(0, 10)) {
    if (["string", "number", "boolean"].includes(typeof value)) {
      parts.push(`${cutText(name, 50)}=${cutText(String(value), MAX_SUMMARY)}`);
    }
  }
  return oneLine(parts.join(" "));
}
