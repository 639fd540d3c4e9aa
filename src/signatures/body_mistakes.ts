/**
 * Mistakes in the signed data: a body that was encoded again on its way, a URL that a proxy
 * changed, a clock that is wrong.
 *
 * @module
 */

import { findText, latin1Bytes, latin1Text, utf8 } from "../base/bytes.ts";
import { shortDuration } from "../base/duration.ts";
import { messageOf } from "../base/errors.ts";
import { parseJson } from "../base/json.ts";
import {
  type Attempt,
  type Cause,
  headerOf,
  type Surroundings,
  type Suspicion,
} from "./mistake.ts";
import { signsUrl } from "./scheme.ts";

/** Largest body that is re-encoded: more would take memory, and such bodies are rare. */
const MAX_REWRITTEN_BYTES = 262_144;

const REMEDY = "have the sender sign the bytes it sends, or find the proxy that changes them";

/** Tries other bodies that the sender may have signed. */
export function* otherBody(attempt: Attempt): Iterable<Suspicion> {
  const { body } = attempt;
  if (body.length === 0 || body.length > MAX_REWRITTEN_BYTES) return;
  const suspect = (cause: Cause, other: string | Uint8Array<ArrayBuffer>, what: string) => ({
    cause,
    message: () => `${what}: ${REMEDY}`,
    attempt: { ...attempt, body: typeof other === "string" ? utf8(other) : other },
  });
  const text = findText(body);
  if (text === undefined) return;
  yield* rewrittenText(text, suspect);
  yield* rewrittenJson(text, suspect);
  yield* rewrittenForm(text, suspect);
  const isLatin1 = !/[\u0100-\uffff]/.test(text);
  if (isLatin1 && /[\x80-\xff]/.test(text)) {
    yield suspect(
      "body_charset",
      latin1Bytes(text),
      "The sender signs the body in Latin-1, not UTF-8",
    );
  }
  const misread = utf8(latin1Text(body));
  if (misread.length !== body.length) {
    yield suspect(
      "body_charset",
      misread,
      "The sender encodes the body as UTF-8 twice before it signs",
    );
  }
}

type Suspect = (cause: Cause, other: string | Uint8Array<ArrayBuffer>, what: string) => Suspicion;

function* rewrittenText(text: string, suspect: Suspect): Iterable<Suspicion> {
  const cause = "body_final_line_break";
  if (/\r?\n$/.test(text)) {
    const less = "The body arrives with a line break at its end that is not signed";
    yield suspect(cause, text.replace(/\r?\n$/, ""), less);
    yield suspect(cause, text.trim(), less);
  }
  const more = "The signature covers a line break at the end of the body that does not arrive";
  yield suspect(cause, `${text}\n`, `${more} (curl -d drops it, --data-binary keeps it)`);
  yield suspect(cause, `${text}\r\n`, more);
  const unix = text.replaceAll("\r\n", "\n");
  const breaks = "Line breaks changed between CR LF and LF after signing";
  if (unix !== text) yield suspect("body_line_breaks", unix, breaks);
  if (text.trim().includes("\n")) {
    yield suspect("body_line_breaks", unix.replaceAll("\n", "\r\n"), breaks);
    yield suspect(
      "body_line_breaks",
      text.replace(/[\r\n]/g, ""),
      "Line breaks were dropped after signing",
    );
  }
  const mark = "body_byte_order_mark";
  yield text.startsWith("\ufeff")
    ? suspect(mark, text.slice(1), "The body arrives with a byte order mark that is not signed")
    : suspect(mark, `\ufeff${text}`, "The signature covers a byte order mark that does not arrive");
}

/** How libraries write JSON: separators and indentation. */
const LAYOUTS: readonly { readonly what: string; readonly write: (value: unknown) => string }[] = [
  { what: "compact", write: (value) => JSON.stringify(value) },
  { what: "with spaces after the separators", write: writeSpaced },
  { what: "indented by 2", write: (value) => JSON.stringify(value, null, 2) },
  { what: "indented by 4", write: (value) => JSON.stringify(value, null, 4) },
  { what: "indented by tabs", write: (value) => JSON.stringify(value, null, "\t") },
];

function* rewrittenJson(text: string, suspect: Suspect): Iterable<Suspicion> {
  let value: unknown;
  try {
    value = parseJson(text);
    if (typeof value !== "object" || value === null) return;
    writeSpaced(value); // throws when the value is nested too deeply for any layout
  } catch (error) {
    return void messageOf(error); // not JSON: nothing to re-encode
  }
  const layouts = LAYOUTS.map(({ what, write }) => ({ what, json: write(value) }));
  for (const { what, json } of layouts) {
    const message = `The signature covers the JSON ${what}, but it arrives in another form`;
    if (json !== text) yield suspect("body_json_layout", json, message);
    if (!json.includes("\n")) continue;
    yield suspect("body_json_layout", `${json}\n`, message);
  }
  for (const { what, json } of layouts) {
    const ascii = json.replace(/[\x7f-\uffff]/g, escaped);
    const message =
      `The signature covers the JSON ${what} with different escapes from those that arrive`;
    for (
      const other of new Set([ascii, ascii.replaceAll("/", "\\/"), json.replaceAll("/", "\\/")])
    ) {
      if (other !== json) yield suspect("body_json_escapes", other, message);
    }
  }
  const sorted = sortKeys(value);
  if (JSON.stringify(sorted) === JSON.stringify(value)) return;
  const message =
    "The signature covers the JSON with its keys sorted, but it arrives in another form";
  for (const { write } of LAYOUTS.slice(0, 2)) {
    yield suspect("body_json_key_order", write(sorted), message);
  }
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** JSON as Python's `json.dumps` writes it, except for escapes. */
function writeSpaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(writeSpaced).join(", ")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, one]) =>
    `${JSON.stringify(key)}: ${writeSpaced(one)}`
  );
  return `{${members.join(", ")}}`;
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (!isObject(value)) return value;
  const sorted = Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1);
  return Object.fromEntries(sorted.map(([key, one]) => [key, sortKeys(one)]));
}

/**
 * Whether a value is a JSON object. Numbers with preserved digits are JavaScript objects without a
 * prototype, and not JSON objects.
 */
function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && JSON.stringify(value).startsWith("{");
}

function* rewrittenForm(text: string, suspect: Suspect): Iterable<Suspicion> {
  const decoded = "The signature covers the decoded payload, not the form that arrives";
  if (/^[^{[\s=&]+=/.test(text)) {
    const form = new URLSearchParams(text);
    for (const value of [...form.values()].slice(0, 4)) {
      if (value.startsWith("{")) yield suspect("body_form_decoded", value, decoded);
    }
    const object = Object.fromEntries(form);
    yield suspect("body_form_decoded", JSON.stringify(object), decoded);
    yield suspect("body_form_decoded", writeSpaced(object), decoded);
    return;
  }
  const encoded = "The signature covers the payload as a form, but it arrives in another form";
  yield suspect("body_form_encoded", new URLSearchParams({ payload: text }).toString(), encoded);
  yield suspect("body_form_encoded", `payload=${encodeURIComponent(text)}`, encoded);
}

/** Tries the time of the signature instead of now. */
export function* otherTime(attempt: Attempt): Iterable<Suspicion> {
  const { scheme, options, now } = attempt;
  const request = { ...attempt, header: (name: string) => headerOf(attempt, name) };
  const time = scheme.signedTime?.find(request, options);
  if (time === undefined || Math.abs(now - time) <= options.toleranceSecs * 1000) return;
  const side = time < now ? "behind" : "ahead of";
  yield {
    cause: "clock_skew",
    message: () =>
      `The signature is right, but its time is ${
        shortDuration(Math.abs(now - time))
      } ${side} the ` +
      `daemon's clock, beyond toleranceSecs (${options.toleranceSecs}): set the clocks right; a request sent again later looks the same`,
    attempt: { ...attempt, options: { ...options, toleranceSecs: Infinity } },
  };
}

/** Tries other URLs of the endpoint that the sender may have signed. */
export function* otherUrl(attempt: Attempt, { arrivedUrl }: Surroundings): Iterable<Suspicion> {
  const { url } = attempt;
  const checked = partsOf(url);
  if (!signsUrl(attempt.scheme, attempt.options) || checked === undefined) return;
  const arrived = partsOf(arrivedUrl) ?? checked;
  const forwarded = ["x-forwarded-host", "x-original-host", "host"].map((name) =>
    headerOf(attempt, name) ?? checked.host
  );
  const hosts = new Set([checked.host, ...forwarded]);
  const paths = new Set([checked.path, arrived.path].flatMap((path) => [path, otherEnd(path)]));
  const queries = new Set([checked.query, arrived.query, ""]);
  for (const host of hosts) {
    for (const path of paths) {
      for (const query of queries) {
        for (const start of ["https://", "http://"]) {
          const known = start + host + path;
          if (known + query === url) continue;
          yield {
            cause: "url_differs",
            message: () => urlAdvice(known, query, arrived.query),
            attempt: { ...attempt, url: known + query },
          };
        }
      }
    }
  }
}

/**
 * Advice for `publicUrl`. If the signed URL has no query, the query of the request is used, which
 * may hold a token and is not shown.
 */
function urlAdvice(known: string, signed: string, arrived: string): string {
  const says = "The sender knows the endpoint by another URL";
  if (signed === arrived) return `${says}: set publicUrl: ${known}`;
  if (signed !== "") return `${says}: set publicUrl: ${known}${signed}`;
  return `The sender signs ${known} without the query that arrives: give it a URL that has none`;
}

function partsOf(url: string): { host: string; path: string; query: string } | undefined {
  const match = /^https?:\/\/([^/?#]+)([^?#]*)(\?[^#]*)?/i.exec(url);
  if (match === null) return undefined;
  const [, host = "", path = "", query = ""] = match;
  return { host, path, query };
}

/** The path with a slash at its end added or removed. */
function otherEnd(path: string): string {
  return path.endsWith("/") ? path.slice(0, -1) : `${path}/`;
}
