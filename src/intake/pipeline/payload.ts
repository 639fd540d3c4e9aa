/**
 * The payload of an authenticated delivery: the accepted content types, and the value of the body: a
 * JSON object, any JSON value, or its text. Platforms that send forms put JSON in the field `payload`.
 *
 * @module
 */

import { findText, utf8 } from "../../base/bytes.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { groupFields, isForm, MAX_FORM_FIELDS, mediaType, parseForm } from "../../base/form.ts";
import { isJsonObject, parseJson, toJson } from "../../base/json.ts";
import type { BodyKind, PlatformBody } from "../../platforms/platform.ts";
import type { WebhookSpec } from "../../resources/event_webhook.ts";
import { platformOfTrigger } from "./signing.ts";
import type { AuthenticatedDelivery } from "./authenticated_delivery.ts";

/** A delivery with its payload. */
export interface ParsedDelivery {
  readonly delivery: AuthenticatedDelivery;
  /** The value of its body. */
  readonly payload: unknown;
  /** Exact JSON of the payload; absent if it is the body itself. */
  readonly json?: Uint8Array;
}

const JSON_TYPE = /^(text\/json|application\/(json|[\w.!#$&^-]+\+json))$/;
const FORM_TYPE = "application/x-www-form-urlencoded";
/** The types that are read, in words for an operator. */
const READ_TYPES = "application/json, text/json, application/…+json, a form, or no type";

/**
 * Refuses content types and codings that are not supported.
 *
 * @param webhook Whether a trigger of this endpoint can take any type, with `body: text`.
 * @throws {AppError} `unsupported_type`.
 */
export function checkContentType(
  headers: Readonly<Record<string, string>>,
  { anyType = false, webhook = true } = {},
): void {
  const { "content-type": type = "", "content-encoding": encoding } = headers;
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    throw new AppError(
      "unsupported_type",
      `Content-Encoding "${encoding.slice(0, 100)}" is not supported: send the body as it is`,
    );
  }
  if (anyType || isReadType(mediaType(type))) return;
  const other = webhook ? "; body: text on the trigger takes any type" : "";
  throw new AppError(
    "unsupported_type",
    `Content type "${mediaType(type).slice(0, 100)}" is not supported: send ${READ_TYPES}${other}`,
  );
}

function isReadType(essence: string): boolean {
  return essence === "" || essence === FORM_TYPE || JSON_TYPE.test(essence);
}

/** How the bodies of a trigger are read: as its `body` says, else as its platform sends them. */
export function bodyOf(webhook: WebhookSpec): PlatformBody & { readonly kind: BodyKind } {
  const body = platformOfTrigger(webhook)?.body;
  return { kind: "object", ...body, ...defined({ kind: webhook.body }) };
}

/**
 * Parses the body as JSON or as a form, or takes it as the text it is.
 *
 * @throws {AppError} `unsupported_type` or `invalid`.
 */
export function parsePayload(
  delivery: AuthenticatedDelivery,
  { kind: setting = "object", anyType = false, otherwiseText = false }: PlatformBody,
): ParsedDelivery {
  const type = delivery.headers["content-type"];
  const isText = setting === "any" && otherwiseText && !isReadType(mediaType(type));
  const kind = isText ? "text" : setting;
  checkContentType(delivery.headers, { anyType: anyType || kind === "text" });
  const text = findText(delivery.body);
  if (text === undefined) throw new AppError("invalid", "The body is not UTF-8");
  const fromForm = kind !== "text" && !anyType && isForm(type, delivery.body);
  const json = fromForm ? formToJson(text) : text;
  const payload = parseText(json, kind);
  delivery.context.passed("parsed");
  if (kind === "text") return { delivery, payload, json: utf8(toJson(payload)) };
  return fromForm ? { delivery, payload, json: utf8(json) } : { delivery, payload };
}

/**
 * The payload of a text.
 *
 * @throws {AppError} `invalid` if it is not of that kind.
 */
export function parseText(text: string, kind: BodyKind): unknown {
  if (kind === "text") return text;
  const payload = parseBody(text);
  if (kind === "any" || isJsonObject(payload)) return payload;
  const list = Array.isArray(payload) ? " but a list: body: any on the trigger takes it" : "";
  throw new AppError("invalid", `The body is not a JSON object${list}`);
}

/** A body as JSON. The error for other text says the place, and quotes nothing of the text. */
function parseBody(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    if (!(error instanceof AppError) || !(error.cause instanceof SyntaxError)) throw error;
    const [, line, column] = /\(line ([0-9]+) column ([0-9]+)\)/.exec(error.cause.message) ?? [];
    const { code, message } = error;
    if (line === undefined) throw error;
    throw new AppError(code, `${message} (line ${line}, column ${column})`, { cause: error });
  }
}

/**
 * The JSON of a form: its fields, or its field `payload` if that is the only one (GitHub, Slack
 * interactivity). Beside other fields, a person may have chosen the name `payload`.
 */
function formToJson(form: string): string {
  const fields = parseForm(form);
  if (fields === undefined) {
    throw new AppError("invalid", `The form has more than ${MAX_FORM_FIELDS} fields`);
  }
  const [[name, value] = ["", ""], ...more] = fields;
  if (more.length === 0 && name === "payload" && /^[\t\n\r ]*\{/.test(value)) return value;
  return JSON.stringify(groupFields(fields));
}
