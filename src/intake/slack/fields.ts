/**
 * Reads fields of a Slack payload, where no field can be trusted to have its type.
 *
 * @module
 */

import { sha256Hex } from "../../base/bytes.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";

/** Most characters of text kept beside the raw body; Slack's own limit for a post. */
const MAX_TEXT = 40_000;

/** The form of ids, event types and times that Slack sends; indexes hold them. */
const USUAL_ID = /^[!-~]{0,200}$/;

/** A text; empty for anything else. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** An id; where it has a form that Slack would not send, its beginning is replaced by a digest. */
export function idOf(value: unknown): string {
  const text = textOf(value);
  return USUAL_ID.test(text) ? text : `sha256:${sha256Hex(JSON.stringify(text))}`;
}

/** An id, or that of an object which stands in its place. */
export function nameOf(value: unknown): string {
  return idOf(isJsonObject(value) ? value["id"] : value);
}

/** An object; an empty one for anything else. */
export function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** A list; an empty one for anything else. */
export function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/**
 * Milliseconds; Slack's times are seconds, with a fraction that numbers the posts of one second.
 */
export function timeOf(value: unknown): number | undefined {
  const text = typeof value === "number" ? String(value) : textOf(value);
  return /^[0-9]{1,12}(\.[0-9]{1,9})?$/.test(text) ? Math.floor(Number(text) * 1000) : undefined;
}

/** At most `length` characters, none of them cut in half. */
export function cut(text: string, length = MAX_TEXT): string {
  if (text.length <= length) return text;
  const end = /[\ud800-\udbff]/.test(text.charAt(length - 1)) ? length - 1 : length;
  return `${text.slice(0, end)}…`;
}
