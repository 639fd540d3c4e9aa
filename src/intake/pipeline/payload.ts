/**
 * The payload of an authenticated delivery: which content types are accepted, and that the result
 * is one JSON object. Platforms that send forms put JSON in the field `payload`.
 *
 * @module
 */

import { findText, utf8 } from "../../base/bytes.ts";
import { AppError } from "../../base/errors.ts";
import { isForm, MAX_FORM_FIELDS, mediaType, parseForm } from "../../base/form.ts";
import { isJsonObject, type JsonObject, parseJson } from "../../base/json.ts";
import type { AuthenticatedDelivery } from "./authenticate.ts";

/** A delivery with its payload. */
export interface ParsedDelivery {
  readonly delivery: AuthenticatedDelivery;
  /** Its body as a JSON object. */
  readonly payload: JsonObject;
  /** Exact JSON of the payload; absent where it is the body itself. */
  readonly json?: Uint8Array;
}

const JSON_TYPE = /^application\/(json|[\w.!#$&^-]+\+json)$/;
const FORM_TYPE = "application/x-www-form-urlencoded";

/**
 * Refuses content types and codings that are not supported.
 *
 * @throws {AppError} `unsupported_type`.
 */
export function checkContentType(headers: Readonly<Record<string, string>>): void {
  const { "content-type": type = "", "content-encoding": encoding } = headers;
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    throw new AppError("unsupported_type", "Content-Encoding is not supported");
  }
  const essence = mediaType(type);
  if (essence !== "" && essence !== FORM_TYPE && !JSON_TYPE.test(essence)) {
    throw new AppError("unsupported_type", `Content type "${essence}" is not supported`);
  }
}

/**
 * Parses the body as JSON or as a form.
 *
 * @throws {AppError} `unsupported_type` or `invalid`.
 */
export function parsePayload(delivery: AuthenticatedDelivery): ParsedDelivery {
  checkContentType(delivery.headers);
  const fromForm = isForm(delivery.headers["content-type"], delivery.body);
  const text = findText(delivery.body);
  if (text === undefined) throw new AppError("invalid", "The body is not UTF-8");
  const json = fromForm ? formToJson(text) : text;
  const payload = parseJson(json);
  if (!isJsonObject(payload)) throw new AppError("invalid", "The body is not a JSON object");
  delivery.context.passed("parsed");
  return { delivery, payload, ...(fromForm ? { json: utf8(json) } : {}) };
}

/**
 * The JSON of a form: its fields themselves, or its field `payload` where it is the only one
 * (GitHub, Slack interactivity). Beside other fields, a field named `payload` may come from a
 * person who could choose its name.
 */
function formToJson(form: string): string {
  const fields = parseForm(form);
  if (fields === undefined) {
    throw new AppError("invalid", `The form has more than ${MAX_FORM_FIELDS} fields`);
  }
  const [[name, value] = ["", ""], ...more] = fields;
  if (more.length === 0 && name === "payload" && /^[\t\n\r ]*\{/.test(value)) return value;
  const byName = new Map<string, string | string[]>();
  for (const [name, value] of fields) {
    const known = byName.get(name);
    if (Array.isArray(known)) known.push(value);
    else byName.set(name, known === undefined ? value : [known, value]);
  }
  return JSON.stringify(Object.fromEntries(byName));
}
