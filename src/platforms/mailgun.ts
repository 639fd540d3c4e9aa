/**
 * Mailgun: the hexadecimal HMAC-SHA256 of `<timestamp><token>`, in the body beside the event: in
 * the object `signature` of JSON, or in three fields of a form, as Mailgun's routes post it. The
 * event is not signed, so a reader of a request on its way can change it. Each token counts once,
 * so a request that has arrived cannot come again with another event. Events of a subaccount have a
 * `parent-signature` with the key of the main account. From "Securing Webhooks" of Mailgun's
 * documentation.
 *
 * @module
 */

import { findHex, findText, utf8 } from "../base/bytes.ts";
import { isForm, parseForm } from "../base/form.ts";
import { findMembers, MAX_SCANNED, textOf } from "../base/json_members.ts";
import { findMatchingKey } from "../signatures/hmac.ts";
import {
  covering,
  isRefusal,
  type Refusal,
  refused,
  type Signature,
  type SignedRequest,
} from "../signatures/scheme.ts";
import { findSeconds, refusedTime } from "../signatures/timestamp.ts";
import { type Platform, signedId } from "./platform.ts";

/** Random text of 50 digits; other lengths are accepted within limits. */
const TOKEN = /^[0-9A-Za-z]{16,128}$/;

const signature: Signature = {
  cannotSign: "Mailgun's signature is a part of the body: send a body that has one",
  verify(request, keys, { toleranceSecs }) {
    const fields = signedFields(request);
    if (isRefusal(fields)) return fields;
    const { timestamp = "", token = "" } = fields;
    const expected = [fields["signature"], fields["parent-signature"]]
      .map((text) => findHex(text ?? ""))
      .filter((digest) => digest?.length === 32)
      .filter((digest) => digest !== undefined);
    if (expected.length === 0) return refused("signature_malformed", "the signature in the body");
    const reason = refusedTime(timestamp, { find: findSeconds, now: request.now, toleranceSecs });
    if (reason !== undefined) return refused(reason);
    // The signed text has nothing between timestamp and token, so each must be recognisable by its
    // form.
    if (!TOKEN.test(token)) {
      return refused(
        "message_id_missing",
        "token of 16 to 128 letters and digits in its signature",
      );
    }
    const match = findMatchingKey("sha256", keys, { data: utf8(timestamp + token), expected });
    return covering(match, { content: undefined, messageId: token });
  },
  signedTime: {
    header: () => undefined,
    find(request) {
      const fields = signedFields(request);
      return isRefusal(fields) ? undefined : findSeconds(fields["timestamp"] ?? "");
    },
  },
};

type Fields = Readonly<Record<string, string | undefined>>;

/** The fields of the signature, or the reason why they are missing. */
function signedFields({ body, header }: SignedRequest): Fields | Refusal {
  if (body.length > MAX_SCANNED) return refused("body_too_large", String(MAX_SCANNED));
  const text = findText(body) ?? "";
  return (isForm(header("content-type"), body) ? fieldsOfForm(text) : fieldsOfJson(text)) ??
    refused("signature_missing_in_body", "signature");
}

const NAMES = ["timestamp", "token", "signature", "parent-signature"];

function fieldsOfJson(text: string): Fields | undefined {
  const signature = findMembers(text, ["signature"])?.["signature"];
  const members = signature === undefined ? undefined : findMembers(signature, NAMES);
  if (members === undefined) return undefined;
  return Object.fromEntries(
    Object.entries(members).map(([name, json]) => [name, textOf(json) ?? json]),
  );
}

/** The fields of a form; `undefined` when one occurs twice, because either could count. */
function fieldsOfForm(text: string): Fields | undefined {
  const pairs = parseForm(text)?.filter(([name]) => NAMES.includes(name)) ?? [];
  const fields = Object.fromEntries(pairs);
  const isEachOnce = Object.keys(fields).length === pairs.length;
  return isEachOnce && "signature" in fields ? fields : undefined;
}

export const mailgun: Platform = {
  name: "mailgun",
  title: "Mailgun",
  headers: [],
  signature,
  auto: false,
  eventId: (event) => signedId(event),
  docs: {
    where: "none: in the body; name the scheme",
    signs: "time and token in the body, but not the event",
    eventId: "`signature.token`",
  },
};
