/**
 * Reads fields of a Slack payload, any of which may have an unexpected type.
 *
 * @module
 */

import { sha256Hex } from "../../base/bytes.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";

/** Most characters of a text that are kept beside the raw body: Slack's limit for a post. */
const MAX_TEXT = 40_000;

/** The form of Slack's ids, event types and times, which the store's indexes hold. */
const USUAL_ID = /^[!-~]{0,200}$/;

/** A text; empty for anything else. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** An id; a digest in place of an id with a form that Slack does not send. */
export function idOf(value: unknown): string {
  const text = textOf(value);
  return USUAL_ID.test(text) ? text : `sha256:${sha256Hex(JSON.stringify(text))}`;
}

/** An id, or the id of an object. */
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

/** Milliseconds since the epoch. Slack's times are seconds, whose fraction numbers the posts. */
export function timeOf(value: unknown): number | undefined {
  const text = typeof value === "number" ? String(value) : textOf(value);
  return /^[0-9]{1,12}(\.[0-9]{1,9})?$/.test(text) ? Math.floor(Number(text) * 1000) : undefined;
}

/** The first `length` characters, without half a character at the end. */
export function cut(text: string, length = MAX_TEXT): string {
  if (text.length <= length) return text;
  const end = /[\ud800-\udbff]/.test(text.charAt(length - 1)) ? length - 1 : length;
  return `${text.slice(0, end)}…`;
}
