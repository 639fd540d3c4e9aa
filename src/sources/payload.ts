/**
 * The payload of an authenticated delivery (contract 3): which content types are read, and that the
 * result is one JSON object. Platforms that send forms put JSON in the field `payload`.
 *
 * @module
 */

import { findText, utf8 } from "../base/bytes.ts";
import { AppError } from "../base/errors.ts";
import { isJsonObject, type JsonObject, parseJson } from "../base/json.ts";
import type { AuthenticatedDelivery } from "./authenticate.ts";

/** A delivery with its payload. */
export interface ParsedDelivery {
  /** The delivery. */
  readonly delivery: AuthenticatedDelivery;
  /** Its body as a JSON object. */
  readonly payload: JsonObject;
  /** Exact JSON of the payload, where that is not the body itself. */
  readonly json?: Uint8Array;
}

const JSON_TYPE = /^application\/(json|[\w.!#$&^-]+\+json)$/;
const FORM_TYPE = "application/x-www-form-urlencoded";

/**
 * Refuses types of body that are not read.
 *
 * @returns whether the body is a form; else it is JSON
 * @throws {AppError} `unsupported_type`.
 */
export function checkContentType(headers: Readonly<Record<string, string>>): boolean {
  const { "content-type": type = "", "content-encoding": encoding } = headers;
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    throw new AppError("unsupported_type", "Content-Encoding is not supported");
  }
  const essence = (type.split(";")[0] ?? "").trim().toLowerCase();
  const isForm = essence === FORM_TYPE;
  if (essence !== "" && !isForm && !JSON_TYPE.test(essence)) {
    throw new AppError("unsupported_type", `Content type "${essence}" is not supported`);
  }
  return isForm;
}

/**
 * Parses the body.
 *
 * @throws {AppError} `unsupported_type` or `invalid`.
 */
export function parsePayload(delivery: AuthenticatedDelivery): ParsedDelivery {
  const isForm = checkContentType(delivery.headers);
  const text = findText(delivery.body);
  if (text === undefined) throw new AppError("invalid", "The body is not UTF-8");
  const json = isForm ? formToJson(text) : text;
  const payload = parseJson(json);
  if (!isJsonObject(payload)) throw new AppError("invalid", "The body is no JSON object");
  delivery.trail.passed("parsed");
  return { delivery, payload, ...(isForm ? { json: utf8(json) } : {}) };
}

/** The JSON of a form: its field `payload` (GitHub, Slack interactivity), or its fields themselves. */
function formToJson(form: string): string {
  const fields = new URLSearchParams(form);
  const payload = fields.getAll("payload");
  if (payload.length === 1 && payload[0]?.trimStart().startsWith("{") === true) return payload[0];
  const entries = [...new Set(fields.keys())].map((name): [string, unknown] => {
    const values = fields.getAll(name);
    return [name, values.length === 1 ? values[0] : values];
  });
  return JSON.stringify(Object.fromEntries(entries));
}
