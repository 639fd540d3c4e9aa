/**
 * `application/x-www-form-urlencoded`, parsed in time that grows with the length only. Only this file
 * decides whether a body is a form: no reader may see other bytes than the verified ones.
 *
 * ```ts
 * import { isForm, mediaType, parseForm } from "./form.ts";
 * import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
 *
 * const type = "application/x-www-form-urlencoded; charset=UTF-8";
 * equal(mediaType(type), "application/x-www-form-urlencoded");
 * equal(isForm(type, new TextEncoder().encode("a=1")), true);
 * equal(isForm(type, new TextEncoder().encode('{"a":1}')), false);
 * deepEqual(parseForm("a=1&b=x+y&a=2"), [["a", "1"], ["b", "x y"], ["a", "2"]]);
 * ```
 *
 * @module
 */

/** Most fields of a form; no platform sends more than a hundred. */
export const MAX_FORM_FIELDS = 1000;

/** The type and subtype of a `Content-Type`, in lower case; empty when there is none. */
export function mediaType(contentType = ""): string {
  return (contentType.split(";", 1)[0] ?? "").trim().toLowerCase();
}

/**
 * Whether a body is a form. No signature covers `Content-Type`, so it only decides if the bytes could be
 * either: a body that begins as a JSON object, list or string is never a form. Otherwise a stranger
 * could have signed JSON read as a form that its author wrote into one of its strings.
 */
export function isForm(contentType: string | undefined, body: Uint8Array): boolean {
  return mediaType(contentType) === "application/x-www-form-urlencoded" && !beginsAsJson(body);
}

/**
 * Names and values in their order, decoded; `undefined` for more than {@linkcode MAX_FORM_FIELDS}.
 */
export function parseForm(text: string): [name: string, value: string][] | undefined {
  let fields = 1;
  for (let at = text.indexOf("&"); at !== -1; at = text.indexOf("&", at + 1)) {
    if (++fields > MAX_FORM_FIELDS) return undefined;
  }
  return [...new URLSearchParams(text)];
}

/** Values by name, in the order of the names; a name that occurs more than once has all its values. */
export function groupFields(
  fields: readonly (readonly [name: string, value: string])[],
): Record<string, string | string[]> {
  const byName = new Map<string, string | string[]>();
  for (const [name, value] of fields) {
    const known = byName.get(name);
    if (Array.isArray(known)) known.push(value);
    else byName.set(name, known === undefined ? value : [known, value]);
  }
  return Object.fromEntries(byName);
}

/** The parameters of a URL's query; none if there are more than {@linkcode MAX_FORM_FIELDS}. */
export function parseQuery(url: string): Record<string, string | string[]> {
  const start = url.indexOf("?");
  const end = url.indexOf("#");
  if (start === -1 || end !== -1 && end < start) return {};
  const query = url.slice(start + 1, end === -1 ? undefined : end);
  return groupFields(parseForm(query) ?? []);
}

/** A parameter of a URL's query; `undefined` if it is absent, or occurs twice, which is ambiguous. */
export function findParameter(url: string, name: string): string | undefined {
  const query = parseQuery(url);
  const value = Object.hasOwn(query, name) ? query[name] : undefined;
  return typeof value === "string" ? value : undefined;
}

function beginsAsJson(body: Uint8Array): boolean {
  const first = firstByte(body);
  return first === 0x7b || first === 0x5b || first === 0x22; // { [ "
}

/** The first byte after JSON white space and byte order marks; `undefined` if there is none. */
export function firstByte(body: Uint8Array): number | undefined {
  let at = 0;
  for (;;) {
    const byte = body[at];
    if (byte === 0xef && body[at + 1] === 0xbb && body[at + 2] === 0xbf) at += 3;
    else if (byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d) at++;
    else return byte;
  }
}
