/**
 * Amazon SNS: an RSA signature over some fields of the body, under the certificate at
 * `SigningCertURL`. Only the certificate of the region of a topic is accepted whose ARN is a value
 * of the SecretStore. Checks without cost come before the certificate is fetched. Messages of raw
 * delivery are not signed. From "Verifying the signatures of Amazon SNS messages", and names in
 * certificates from the AWS SDK for Java.
 *
 * @module
 */

import { findBase64, findText, utf8 } from "../base/bytes.ts";
import { findMembers, MAX_SCANNED, textOf } from "../base/json_members.ts";
import { refusedCertificate } from "../signatures/certificate.ts";
import {
  covering,
  isRefusal,
  type Refusal,
  refused,
  type Signature,
  type SignedRequest,
  type SigningKey,
} from "../signatures/scheme.ts";
import { findTime, refusedTime } from "../signatures/timestamp.ts";
import { type Handshake, nonEmptyText, type Platform, PONG, signedId } from "./platform.ts";

/**
 * Signed fields in their order, by the type of the message. `Subject` is optional;
 * `MessageAttributes` and `UnsubscribeURL` are not signed.
 */
const SIGNED: Readonly<Record<string, readonly string[]>> = {
  Notification: ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"],
  SubscriptionConfirmation: [
    "Message",
    "MessageId",
    "SubscribeURL",
    "Timestamp",
    "Token",
    "TopicArn",
    "Type",
  ],
  UnsubscribeConfirmation: [
    "Message",
    "MessageId",
    "SubscribeURL",
    "Timestamp",
    "Token",
    "TopicArn",
    "Type",
  ],
};

const HASHES: Readonly<Record<string, "sha1" | "sha256">> = { "1": "sha1", "2": "sha256" };

const FIELDS = [
  ...new Set(Object.values(SIGNED).flat()),
  "Signature",
  "SignatureVersion",
  "SigningCertURL",
];

/** Partition, region and the other parts of a topic's ARN. */
const TOPIC =
  /^arn:(aws|aws-cn|aws-us-gov):sns:([a-z]{2}(?:-[a-z]{1,16}){1,3}-[0-9]{1,2}):[0-9]{12}:[\w.-]{1,256}$/;

type Fields = Readonly<Record<string, string | undefined>>;

const signature: Signature = {
  // Only notifications bring an event; the other types are handshakes.
  covers: () => ({
    payload: SIGNED["Notification"] ?? [],
    headers: [],
    query: false,
    method: false,
  }),
  takes: "the ARN of a topic that may send",
  cannotSign: "Amazon SNS signs with a private key that only AWS has",
  isPublicKey: (value) => TOPIC.test(value),
  defaultToleranceSecs: 3600, // SNS tries for an hour, with the time of the first try
  async verify(request, keys, { toleranceSecs }) {
    const fields = fieldsOf(request);
    if (isRefusal(fields)) return fields;
    const topics = keys.filter(({ value }) => TOPIC.test(value));
    if (topics.length === 0) return refused("no_usable_key");
    const topic = topics.find(({ value }) => value === fields["TopicArn"]);
    if (topic === undefined) return refused("topic_not_allowed", shownTopic(fields["TopicArn"]));
    const { now } = request;
    const window = { find: findTime, now, toleranceSecs };
    const reason = refusedTime(fields["Timestamp"], window);
    if (reason !== undefined) return refused(reason);
    const host = hostOf(topic.value);
    const url = fields["SigningCertURL"] ?? "";
    if (!isCertificateUrl(url, host)) return refused("certificate_foreign");
    const hash = HASHES[fields["SignatureVersion"] ?? ""];
    const bytes = findBase64(fields["Signature"] ?? "");
    const content = signedText(fields);
    if (hash === undefined || bytes === undefined || bytes.length < 256 || content === undefined) {
      return refused("signature_malformed", "the signature in the body");
    }
    const certificate = await request.findCertificate?.(url) ??
      { failure: "certificate_unreachable" as const };
    if ("failure" in certificate) return refused(certificate.failure, certificate.why);
    const rules = { hosts: namesOf(host), now };
    const failure = refusedCertificate(certificate.pem, rules, {
      hash,
      data: content,
      signature: bytes,
    });
    if (failure !== undefined) return refused(failure);
    const messageId = fields["MessageId"] ?? "";
    return covering({ ok: true, keyName: topic.name }, { content, messageId });
  },
  signedTime: {
    header: () => undefined,
    find(request) {
      const fields = fieldsOf(request);
      return isRefusal(fields) ? undefined : findTime(fields["Timestamp"] ?? "");
    },
  },
};

/** The topic that a request names, if it has the form of an ARN. */
function shownTopic(arn = ""): string {
  return TOPIC.test(arn) ? arn : "in the body";
}

/** The texts of the fields, or the reason why they are missing. */
function fieldsOf({ body }: SignedRequest): Fields | Refusal {
  if (body.length > MAX_SCANNED) return refused("body_too_large", String(MAX_SCANNED));
  const members = findMembers(findText(body) ?? "", FIELDS);
  if (members?.["Signature"] === undefined) {
    return refused("signature_missing_in_body", "Signature");
  }
  return Object.fromEntries(Object.entries(members).map(([name, json]) => [name, textOf(json)]));
}

const LINE = /^[^\r\n]{1,2048}$/;

/**
 * The signed text; `undefined` if a field is missing or ambiguous. The text does not separate names
 * from values: with a line break in any field but the message, the author of a message could make
 * its end look like other fields.
 */
function signedText(fields: Fields): Uint8Array | undefined {
  const type = fields["Type"] ?? "";
  const names = Object.hasOwn(SIGNED, type) ? SIGNED[type] ?? [] : [];
  const present = names.filter((name) => name !== "Subject" || "Subject" in fields);
  const isWhole = present.every((name) => {
    const value = fields[name];
    return value !== undefined && (name === "Message" || LINE.test(value));
  });
  if (present.length === 0 || !isWhole) return undefined;
  return utf8(present.map((name) => `${name}\n${fields[name]}\n`).join(""));
}

/** The host of SNS that sends for a topic. */
function hostOf(topic: string): string {
  const [, partition, region] = TOPIC.exec(topic) ?? [];
  return `sns.${region}.amazonaws.com${partition === "aws-cn" ? ".cn" : ""}`;
}

/**
 * Whether a URL names a certificate of the host. Compared as text, because a parsed URL may differ
 * from the fetched one.
 */
function isCertificateUrl(url: string, host: string): boolean {
  const start = `https://${host}/SimpleNotificationService-`;
  return url.startsWith(start) && /^[0-9a-f]{16,64}\.pem$/.test(url.slice(start.length));
}

/** The names in certificates that may sign for a host. */
function namesOf(host: string): readonly string[] {
  const [, region = "", domain = ""] = /^sns\.([^.]+)\.(.+)$/.exec(host) ?? [];
  const gov = region.startsWith("us-gov-") ? ["sns-us-gov-west-1.amazonaws.com"] : [];
  return [
    `sns.${domain}`,
    host,
    `sns-signing.${region}.${domain}`,
    `sns-${region}.${domain}`,
    ...gov,
  ];
}

/**
 * Confirms a subscription to an allowed topic, and only records the end of one.
 *
 * @param key The topic that verified the request; without one, no URL is visited.
 */
function handshake(
  payload: Readonly<Record<string, unknown>>,
  key?: SigningKey,
): Handshake | undefined {
  const { Type: type, SubscribeURL: url } = payload;
  if (type === "UnsubscribeConfirmation") return PONG;
  if (type !== "SubscriptionConfirmation") return undefined;
  const topic = nonEmptyText(payload["TopicArn"]);
  const start = key === undefined
    ? undefined
    : `https://${hostOf(key.value)}/?Action=ConfirmSubscription&`;
  const isOwn = start !== undefined && topic === key?.value && typeof url === "string" &&
    url.startsWith(start) && /^[\w.~:%&=+-]{1,2000}$/.test(url.slice(start.length));
  return isOwn ? { ...PONG, visit: url } : PONG;
}

export const sns: Platform = {
  name: "sns",
  title: "Amazon SNS",
  headers: [],
  signature,
  auto: false,
  body: { anyType: true },
  handshake,
  eventId: (event) => signedId(event),
  docs: {
    where: "none: in the body; name the scheme",
    signs:
      "`Message`, `MessageId`, `Subject`, `Timestamp`, `TopicArn`, `Type`, with a certificate " +
      "of AWS; the store holds the ARNs of the topics that may send",
    eventId: "`MessageId`",
  },
};
