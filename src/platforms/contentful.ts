/**
 * Contentful: the hexadecimal HMAC-SHA256 over method, path, the headers that `X-Contentful-Signed-
 * Headers` lists, and body. The list has to name itself and the time, or neither would be signed.
 * The address must have no query, because Contentful changes its spelling before it signs.
 *
 * @module
 */

import {
  findSignature,
  type HmacSpec,
  refused,
  type Signature,
  type SignedHeaders,
} from "../signatures/scheme.ts";
import { keyCannotSign, templatedHmac } from "../signatures/templated_hmac.ts";
import { findTime } from "../signatures/timestamp.ts";
import { headerId, type Platform } from "./platform.ts";

const LIST_HEADER = "x-contentful-signed-headers";
const TIMESTAMP_HEADER = "x-contentful-timestamp";

/** Fewer than 50 names in lower case, because each is looked up in the headers. */
const LIST = /^[a-z0-9-]{1,100}(?:,[a-z0-9-]{1,100}){1,49}$/;

const signature: Signature = {
  signsUrl: true,
  covers: (_options, { header }) => ({
    payload: "all",
    headers: header === undefined ? "all" : signedNames({ header }) ?? [],
    query: true,
    method: true,
  }),
  verify(request, keys, options) {
    if (findSignature(request, options) === undefined) return refused("signature_header_missing");
    const names = signedNames(request);
    if (names === undefined) return refused("signed_headers_unknown", LIST_HEADER);
    return templatedHmac(specOf(names)).verify(request, keys, options);
  },
  async sign(input, key, options) {
    const names = [LIST_HEADER, TIMESTAMP_HEADER];
    const listed = specOf(names).template.replace(`{header:${LIST_HEADER}}`, names.join(","));
    const { sign } = templatedHmac({ ...specOf(names), template: listed });
    if (sign === undefined) throw keyCannotSign(key);
    return { ...await sign(input, key, options), [LIST_HEADER]: names.join(",") };
  },
  signedTime: {
    header: () => TIMESTAMP_HEADER,
    find: (request) => findTime(request.header(TIMESTAMP_HEADER) ?? ""),
  },
};

/** The signed headers; `undefined` if the list or the time is not among them. */
function signedNames(request: SignedHeaders): readonly string[] | undefined {
  const list = request.header(LIST_HEADER) ?? "";
  const names = LIST.test(list) ? list.split(",") : [];
  return names.includes(LIST_HEADER) && names.includes(TIMESTAMP_HEADER) ? names : undefined;
}

function specOf(names: readonly string[]): HmacSpec {
  const headers = names.map((name) =>
    name === TIMESTAMP_HEADER ? `${name}:{timestamp}` : `${name}:{header:${name}}`
  );
  return {
    form: { hash: "sha256", encoding: "hex", prefix: "" },
    template: `POST\n{path}\n${headers.join(";")}\n{body}`,
    timestampHeader: TIMESTAMP_HEADER,
    findTime,
    writeTime: String,
  };
}

export const contentful: Platform = {
  name: "contentful",
  title: "Contentful",
  headers: ["x-contentful-signature"],
  signature,
  auto: true,
  sends: { event: "X-Contentful-Topic" },
  eventId: (event) => headerId("x-contentful-idempotency-key", event),
  docs: {
    signs: "path (without a query), the headers it lists, time, body",
    eventId: "`X-Contentful-Idempotency-Key` and the body",
  },
};
