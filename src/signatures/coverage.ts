/**
 * Which values of a request a verified signature covers. A reader of one signed request can send it
 * again and change everything else, such as a header or the query.
 *
 * @module
 */

import { parseQuery } from "../base/form.ts";
import { isJsonObject, type JsonObject } from "../base/json.ts";

/**
 * The parts of a request that a signature covers. No signature covers the address of the sender.
 */
export interface Coverage {
  /** Covered top-level fields of the payload, or all. */
  readonly payload: "all" | readonly string[];
  /** Covered headers by their lower-case names, or all. */
  readonly headers: "all" | readonly string[];
  readonly query: boolean;
  readonly method: boolean;
}

/**
 * Facts about one request, or about all requests to come. An unknown value counts as not covered.
 */
export interface CoverageFacts {
  /**
   * A header of a verified request, by lower-case name. Absent for requests to come: the answer is
   * then the most that a request may have covered.
   */
  readonly header?: (name: string) => string | undefined;
  readonly keys?: readonly { readonly value: string }[];
}

/** Coverage of a request that shows a secret, or neither secret nor signature. */
export const COVERS_NOTHING: Coverage = { payload: [], headers: [], query: false, method: false };

/** Coverage of a signature over the body alone. */
export const COVERS_BODY: Coverage = { payload: "all", headers: [], query: false, method: false };

/** Coverage of an event that svc makes itself, or fetches from the platform itself. */
export const COVERS_EVERYTHING: Coverage = {
  payload: "all",
  headers: "all",
  query: true,
  method: true,
};

/** A coverage without the payload. */
export function withoutPayload({ headers, query, method }: Coverage): Coverage {
  return { payload: [], headers, query, method };
}

/** A coverage without the query. */
export function withoutQuery({ payload, headers, method }: Coverage): Coverage {
  return { payload, headers, query: false, method };
}

/** Whether a signature covers any part of the payload. */
export function coversPayload({ payload }: Coverage): boolean {
  return payload === "all" || payload.length > 0;
}

/**
 * Whether a value that an expression reads is covered; `undefined` for a value that no sender
 * writes, such as the name of the trigger.
 *
 * @param path A variable and the constant fields selected from it.
 */
export function isCovered(
  [variable = "", ...fields]: readonly string[],
  coverage: Coverage,
): boolean | undefined {
  const [field] = fields;
  if (variable.startsWith("payload_")) {
    return isAmong(variable.slice("payload_".length), coverage.payload);
  }
  switch (variable) {
    case "payload":
      return isAmong(field, coverage.payload);
    case "headers":
      return isAmong(field, coverage.headers);
    case "query":
      return coverage.query;
    case "method":
      return coverage.method;
    case "remote":
      return false;
    case "signed":
      return true;
    case "unsigned":
      return field === undefined ? false : isCovered(fields, coverage);
    default:
      return undefined;
  }
}

function isAmong(name: string | undefined, covered: "all" | readonly string[]): boolean {
  return covered === "all" || (name !== undefined && covered.includes(name));
}

/** A request as expressions see it. */
export interface ReceivedValues {
  readonly payload: unknown;
  readonly headers: Readonly<Record<string, string>>;
  /** URL as it arrived; empty for an event without a request. */
  readonly url: string;
  readonly method: string;
}

/** The variable `signed`: the covered values, without fields for the others. */
export function signedValues(coverage: Coverage, received: ReceivedValues): JsonObject {
  const values: JsonObject = {};
  const { payload, headers, url, method } = received;
  if (coverage.payload === "all") values["payload"] = payload;
  else if (coverage.payload.length > 0 && isJsonObject(payload)) {
    values["payload"] = only(payload, coverage.payload);
  }
  values["headers"] = coverage.headers === "all" ? headers : only(headers, coverage.headers);
  if (coverage.query) values["query"] = parseQuery(url);
  if (coverage.method) values["method"] = method;
  return values;
}

function only(values: Readonly<JsonObject>, names: readonly string[]): JsonObject {
  return Object.fromEntries(
    names.filter((name) => Object.hasOwn(values, name)).map((name) => [name, values[name]]),
  );
}
