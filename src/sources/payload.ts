/**
 * The payload of an authenticated delivery (contract 3): which content types are read, and that the
 * result is one JSON object.
 *
 * @module
 */

import { findText } from "../base/bytes.ts";
import { AppError } from "../base/errors.ts";
import { isJsonObject, type JsonObject, parseJson } from "../base/json.ts";
import type { AuthenticatedDelivery } from "./authenticate.ts";

/** A delivery with its payload. */
export interface ParsedDelivery {
  /** The delivery. */
  readonly delivery: AuthenticatedDelivery;
  /** Its body as a JSON object. */
  readonly payload: JsonObject;
}

const JSON_TYPE = /^application\/(json|[\w.!#$&^-]+\+json)$/;

/**
 * Parses the body.
 *
 * @throws {AppError} `unsupported_type` or `invalid`.
 */
export function parsePayload(delivery: AuthenticatedDelivery): ParsedDelivery {
  const { "content-type": type = "", "content-encoding": encoding } = delivery.headers;
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    throw new AppError("unsupported_type", "Content-Encoding is not supported");
  }
  const essence = (type.split(";")[0] ?? "").trim().toLowerCase();
  if (essence !== "" && !JSON_TYPE.test(essence)) {
    throw new AppError("unsupported_type", `Content type "${essence}" is not supported`);
  }
  const text = findText(delivery.body);
  if (text === undefined) throw new AppError("invalid", "The body is not UTF-8");
  const payload = parseJson(text);
  if (!isJsonObject(payload)) throw new AppError("invalid", "The body is no JSON object");
  return { delivery, payload };
}
