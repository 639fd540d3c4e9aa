/**
 * Stripe: `t=<seconds>,v1=<hex>[,v1=<hex>…]`, HMAC-SHA256 over `<t>.<body>` under the whole
 * `whsec_…` text, which Stripe, unlike Standard Webhooks, does not decode. While a secret is rolled
 * there is one `v1` for each secret. Test events carry a `v0` that proves nothing; it and whatever
 * else may come are passed over. The event's `id` is in the signed body and stays the same over
 * retries.
 *
 * @module
 */

import { concatBytes, findHex, toHex, utf8 } from "../base/bytes.ts";
import { findMatchingKey, hmac } from "../signatures/hmac.ts";
import { covering, findSignature, refused, type Signature } from "../signatures/scheme.ts";
import { keyCannotSign } from "../signatures/templated_hmac.ts";
import { findSeconds, refusedTime } from "../signatures/timestamp.ts";
import { payloadId, type Platform } from "./platform.ts";

/** Elements are joined by bare commas; a second header line would add a blank after its comma. */
const FORM = /^[a-z0-9_]+=[^,\s]*(,[a-z0-9_]+=[^,\s]*)*$/;

const signature: Signature = {
  verify(request, keys, options) {
    const value = findSignature(request, options);
    if (value === undefined) return refused("signature_header_missing");
    if (!FORM.test(value)) return refused("signature_malformed");
    const times = elements(value, "t");
    if (times.length > 1) return refused("signature_malformed");
    const window = { find: findSeconds, now: request.now, toleranceSecs: options.toleranceSecs };
    const reason = refusedTime(times[0], window);
    if (reason !== undefined) return refused(reason);
    const expected = elements(value, "v1").map((hex) => findHex(hex) ?? new Uint8Array());
    if (expected.length === 0 || expected.some((bytes) => bytes.length !== 32)) {
      return refused("signature_malformed");
    }
    const data = concatBytes(utf8(`${times[0]}.`), request.body);
    const match = findMatchingKey("sha256", keys, { data, expected });
    return covering(match, { content: request.body });
  },
  sign({ body, now }, key, options) {
    const time = String(Math.floor(now / 1000));
    const digest = hmac("sha256", key, concatBytes(utf8(`${time}.`), body));
    if (digest === undefined) throw keyCannotSign(key);
    return { [options.signatureHeader]: `t=${time},v1=${toHex(digest)}` };
  },
  signedTime: {
    header: () => undefined,
    find: (request, options) =>
      findSeconds(elements(request.header(options.signatureHeader) ?? "", "t")[0] ?? ""),
  },
};

function elements(value: string, name: string): string[] {
  const start = `${name}=`;
  return value.split(",").filter((one) => one.startsWith(start)).map((one) =>
    one.slice(start.length)
  );
}

/** Stripe. */
export const stripe: Platform = {
  name: "stripe",
  title: "Stripe",
  headers: ["Stripe-Signature"],
  signature,
  auto: true,
  eventId: (event) => payloadId(event.payload["id"], event),
  docs: { signs: "time and body, any of several `v1`", eventId: "`id`" },
};
