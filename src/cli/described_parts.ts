/**
 * The parts of the texts of `svc describe`: names with their texts, sections, times.
 *
 * @module
 */

import { shortDuration } from "../base/duration.ts";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { printable } from "./terminal_text.ts";

/** A name and its text; a line with an empty text is left out. */
export type Line = readonly [name: string, text: string];

/** A line for each name, with the further lines of its text below. */
export function lines(all: readonly Line[]): string {
  const shown = all.filter(([, text]) => text !== "");
  const width = Math.max(...shown.map(([name]) => name.length)) + 3;
  return shown.map(([name, value]) => {
    const [first = "", ...more] = value.split("\n").map(printable);
    const rest = more.map((line) => `${" ".repeat(width)}${line}\n`).join("");
    return `${`${name}:`.padEnd(width)}${first}\n${rest}`;
  }).join("");
}

/** A heading, with its lines below. */
export function section(title: string, body: string): string {
  const indented = body.trimEnd().split("\n").map((line) => `  ${line}`.trimEnd());
  return `${title}:\n${indented.join("\n")}\n`;
}

/** A column of a table whose cells are names, but for reasons. */
export function toColumn(header: string) {
  const fit = header === "REASON" ? "text" : "name";
  return { header, wide: false, fit } as const;
}

/** The columns of the terminal that the lines of a section have. */
export function inner(columns: number | undefined): number | undefined {
  return columns === undefined ? undefined : columns - 2;
}

/** How long a task or a step took, or has taken so far; empty before it starts. */
export function lasted({ started_at: from, finished_at: to }: JsonObject, now: number): string {
  if (typeof from !== "string") return "";
  return shortDuration((typeof to === "string" ? Date.parse(to) : now) - Date.parse(from));
}

/** How long ago a time was. */
export function ago(at: unknown, now: number): string {
  return typeof at === "string" ? `${shortDuration(now - Date.parse(at))} ago` : "";
}

/** An object within an object; empty where there is none. */
export function part(value: JsonObject, name: string): JsonObject {
  const found = value[name];
  return isJsonObject(found) ? found : {};
}

/** A text; empty where there is none. */
export function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** A list as texts. */
export function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
