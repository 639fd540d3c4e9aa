/**
 * The signature of Standard Webhooks: over `<id>.<timestamp>.<body>`, in a list separated by
 * blanks. `v1` is HMAC-SHA256 under the base64 after `whsec_`, `v1a` is Ed25519 under the public
 * key after `whpk_`. Svix sends the same in `svix-…`, or in headers named by its customer.
 *
 * @module
 */

import { concatBytes, findBase64, toBase64, utf8 } from "../base/bytes.ts";
import { findSigner } from "./ed25519.ts";
import { findMatchingKey, hmac } from "./hmac.ts";
import { type Coverage, COVERS_BODY } from "./coverage.ts";
import {
  covering,
  refused,
  type SchemeOptions,
  type Signature,
  type SignedHeaders,
} from "./scheme.ts";
import { keyCannotSign } from "./templated_hmac.ts";
import { findSeconds, refusedTime } from "./timestamp.ts";

/** Most signatures of a request: each `v1a` costs a curve operation for every key. */
const MAX_SIGNATURES = 16;

/** `v1,<base64>` and later versions. Two header lines would leave a comma at an end. */
const LIST = /^v[0-9]{1,3}[a-z]?,[A-Za-z0-9+/]+={0,2}( v[0-9]{1,3}[a-z]?,[A-Za-z0-9+/]+={0,2})*$/;

/** Visible ASCII without the comma, which joins two header lines. */
const ID = /^[!-+\--~]{1,256}$/;

/**
 * The signature of Standard Webhooks; `options.signatureHeader` determines the prefix of the three
 * headers.
 */
export const standardWebhooksSignature: Signature = {
  keyForms: ["whsec"],
  covers: (options, { header }) =>
    coversFamilies(
      header === undefined ? familiesOf(options) : [familyOf({ header }, options)],
    ),
  async verify(request, keys, options) {
    const family = familyOf(request, options);
    const value = request.header(`${family}-signature`) ?? "";
    if (value === "") return refused("signature_header_missing");
    const list = LIST.test(value) ? value.split(" ") : [];
    if (list.length === 0 || list.length > MAX_SIGNATURES) return refused("signature_malformed");
    const id = request.header(`${family}-id`) ?? "";
    if (!ID.test(id)) {
      return id === ""
        ? refused("message_id_missing", `header ${family}-id`)
        : refused("signature_malformed", `the header ${family}-id`);
    }
    const time = request.header(`${family}-timestamp`) ?? "";
    const window = { find: findSeconds, now: request.now, toleranceSecs: options.toleranceSecs };
    const reason = refusedTime(time, window);
    if (reason !== undefined) return refused(reason);

    const v1 = decoded(list, "v1,", 32);
    const v1a = decoded(list, "v1a,", 64);
    if (v1 === undefined || v1a === undefined || v1.length + v1a.length === 0) {
      return refused("signature_malformed");
    }
    const data = concatBytes(utf8(`${id}.${time}.`), request.body);
    const shared = v1.length === 0
      ? refused("no_usable_key")
      : findMatchingKey("sha256", keys, { data, expected: v1, form: "whsec" });
    const covered = { content: request.body, messageId: id };
    if (shared.ok || v1a.length === 0) return covering(shared, covered);
    const signer = await findSigner(keys, { data, signatures: v1a, readKey: findPublicKey });
    return covering(signer.ok || shared.reason === "no_usable_key" ? signer : shared, covered);
  },
  sign({ body, now, id }, key, options) {
    const time = String(Math.floor(now / 1000));
    const data = concatBytes(utf8(`${id}.${time}.`), body);
    const digest = hmac("sha256", key, data, "whsec");
    if (digest === undefined) throw keyCannotSign(key);
    const family = /^(.+)-signature$/.exec(options.signatureHeader)?.[1] ?? "webhook";
    return {
      [`${family}-id`]: id,
      [`${family}-timestamp`]: time,
      [`${family}-signature`]: `v1,${toBase64(digest)}`,
    };
  },
  signedTime: {
    header: (options) =>
      `${/^(.+)-signature$/.exec(options.signatureHeader)?.[1] ?? "webhook"}-timestamp`,
    find: (request, options) =>
      findSeconds(request.header(`${familyOf(request, options)}-timestamp`) ?? ""),
  },
};

/** Possible prefixes of the three header names; Svix moves its customers from one to the other. */
function familiesOf(
  { signatureHeader }: SchemeOptions,
): readonly [own: string, ...other: string[]] {
  const own = /^(.+)-signature$/.exec(signatureHeader)?.[1] ?? "webhook";
  const other = { webhook: "svix", svix: "webhook" }[own];
  return other === undefined ? [own] : [own, other];
}

/** The prefix of the headers in which a request has its signature. */
function familyOf(request: SignedHeaders, options: SchemeOptions): string {
  const [own, other] = familiesOf(options);
  const present = (family: string) => (request.header(`${family}-signature`) ?? "") !== "";
  return other !== undefined && !present(own) && present(other) ? other : own;
}

function coversFamilies(families: readonly string[]): Coverage {
  const { payload, query, method } = COVERS_BODY;
  const headers = families.flatMap((family) => [`${family}-id`, `${family}-timestamp`]);
  return { payload, headers, query, method };
}

function decoded(list: readonly string[], start: string, length: number) {
  const signatures = list.filter((one) => one.startsWith(start))
    .map((one) => findBase64(one.slice(start.length)) ?? new Uint8Array());
  return signatures.every((bytes) => bytes.length === length) ? signatures : undefined;
}

function findPublicKey(value: string): Uint8Array<ArrayBuffer> | undefined {
  return value.startsWith("whpk_") ? findBase64(value.slice(5)) : undefined;
}
