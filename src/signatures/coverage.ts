/**
 * Which values of a request a verified signature covers. What it does not cover, everybody can
 * change who has one signed request: he sends it again with another header or another query.
 *
 * @module
 */

import { parseQuery } from "../base/form.ts";
import { isJsonObject, type JsonObject } from "../base/json.ts";

/** What a signature covers; the address of the sender is covered by none. */
export interface Coverage {
  /** Top-level fields of the payload, or each of them. */
  readonly payload: "all" | readonly string[];
  /** Names of headers in lower case, or each of them. */
  readonly headers: "all" | readonly string[];
  /** Whether the query is covered. */
  readonly query: boolean;
  /** Whether the method is covered. */
  readonly method: boolean;
}

/** What is known of a request or of those to come; what is not known counts as not covered. */
export interface CoverageFacts {
  /**
   * A header of a verified request, by lower-case name; absent where the question is what any request
   * to come may have covered.
   */
  readonly header?: (name: string) => string | undefined;
  /** The keys that sign. */
  readonly keys?: readonly { readonly value: string }[];
}

/** Of a request that shows a secret, or nothing at all. */
export const COVERS_NOTHING: Coverage = { payload: [], headers: [], query: false, method: false };

/** Of a signature over the body alone. */
export const COVERS_BODY: Coverage = { payload: "all", headers: [], query: false, method: false };

/** Of an event of our own, or one that we fetched from its platform ourselves. */
export const COVERS_EVERYTHING: Coverage = {
  payload: "all",
  headers: "all",
  query: true,
  method: true,
};

/** The same without the payload. */
export function withoutPayload({ headers, query, method }: Coverage): Coverage {
  return { payload: [], headers, query, method };
}

/** The same without the query. */
export function withoutQuery({ payload, headers, method }: Coverage): Coverage {
  return { payload, headers, query: false, method };
}

/** Whether a signature covers anything of what an event says. */
export function coversPayload({ payload }: Coverage): boolean {
  return payload === "all" || payload.length > 0;
}

/**
 * Whether a value that an expression reads is covered; `undefined` for what no sender writes, such
 * as the name of the trigger.
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
  /** As it arrived; empty where there was no request. */
  readonly url: string;
  readonly method: string;
}

/** The variable `signed`: what is covered, and no field for what is not. */
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
