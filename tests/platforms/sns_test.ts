/**
 * Amazon SNS: allowed certificate URLs, requirements of a certificate, and the results of messages,
 * over a certificate made here. Each case says whether a certificate is fetched.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { createPrivateKey, createSign } from "node:crypto";
import { sns } from "../../src/platforms/sns.ts";
import { NO_OPENSSL, openssl } from "../helpers/certificate.ts";
import { skippable } from "../helpers/requirements.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { keysOf } from "../signatures/platform_cases.ts";
import { MANIFEST, type RigOptions, triggerYaml, webhookRig } from "../rigs/webhook_rig.ts";

const TOPIC = "arn:aws:sns:eu-central-1:123456789012:deploys";
const HOST = "https://sns.eu-central-1.amazonaws.com";
const PEM_URL = `${HOST}/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem`;
const CONFIRM_URL = `${HOST}/?Action=ConfirmSubscription&TopicArn=${TOPIC}&Token=2336412f37`;

/** A key and certificates for it: of SNS, of its region, of others. */
const HOSTS = {
  sns: "sns.amazonaws.com",
  region: "sns-signing.eu-central-1.amazonaws.com",
  elsewhere: "sns-signing.us-east-1.amazonaws.com",
  stranger: "sns.amazonaws.com.evil.example",
};
const certificates = { ...HOSTS };
let key = "";
if (NO_OPENSSL === undefined) {
  await using dir = await tempDir();
  await openssl(dir.path, "genrsa", "-out", "key", "2048");
  key = await Deno.readTextFile(`${dir.path}/key`);
  for (const [name, host] of Object.entries(HOSTS) as [keyof typeof HOSTS, string][]) {
    const subject = ["-subj", `/CN=${host}`, "-addext", `subjectAltName=DNS:${host}`];
    await openssl(
      dir.path,
      "req",
      "-x509",
      "-key",
      "key",
      "-days",
      "30",
      "-out",
      name,
      ...subject,
    );
    certificates[name] = await Deno.readTextFile(`${dir.path}/${name}`);
  }
}

function test(name: string, fn: (t: Deno.TestContext) => void | Promise<void>): void {
  Deno.test({ ...skippable(name, NO_OPENSSL), fn });
}

type Fields = Record<string, string>;

const NOW = Date.now();

/** A message as SNS would sign it; `unsigned` is changed afterwards. */
function message(signed: Fields = {}, unsigned: Fields = {}): Fields {
  const fields: Fields = {
    Type: "Notification",
    MessageId: "792cda85-518f-5dd3-9163-81d851212f3a",
    TopicArn: TOPIC,
    Message: '{"app":"shop","text":"Grüße\\n"}',
    Timestamp: new Date(NOW).toISOString(),
    SignatureVersion: "2",
    SigningCertURL: PEM_URL,
    UnsubscribeURL: `${HOST}/?Action=Unsubscribe`,
    ...signed,
  };
  const names = fields["Type"] === "Notification"
    ? ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"]
    : ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"];
  const text = names.filter((name) => name in fields)
    .map((name) => `${name}\n${fields[name]}\n`).join("");
  const signer = createSign(fields["SignatureVersion"] === "1" ? "RSA-SHA1" : "RSA-SHA256");
  const Signature = signer.update(text).sign(createPrivateKey(key), "base64");
  return { ...fields, Signature, ...unsigned };
}

function confirmation(signed: Fields = {}): Fields {
  const own = { Type: "SubscriptionConfirmation", Token: "2336412f37", SubscribeURL: CONFIRM_URL };
  return message(Object.assign(own, signed));
}

/** What the scheme says, and the URLs that it asked for. */
async function verdict(
  fields: Fields,
  { pem = certificates.sns, now = NOW, topics = [TOPIC] } = {},
): Promise<[reason: string, ...asked: string[]]> {
  const asked: string[] = [];
  const found = await sns.signature.verify(
    {
      body: new TextEncoder().encode(JSON.stringify(fields)),
      header: () => undefined,
      url: "",
      arrivedUrl: "",
      now,
      findCertificate(url) {
        asked.push(url);
        return Promise.resolve({ pem });
      },
    },
    keysOf(...topics),
    { signatureHeader: "", toleranceSecs: 3600 },
  );
  return [found.ok ? "ok" : found.reason, ...asked];
}

test("messages of both versions verify, with and without a subject", async () => {
  for (const SignatureVersion of ["1", "2"]) {
    deepEqual(await verdict(message({ SignatureVersion })), ["ok", PEM_URL]);
    deepEqual(await verdict(message({ SignatureVersion, Subject: "Hello" })), ["ok", PEM_URL]);
    deepEqual(await verdict(confirmation({ SignatureVersion })), ["ok", PEM_URL]);
  }
  deepEqual(await verdict(message(), { pem: certificates.region }), ["ok", PEM_URL]);
});

test("a signed field cannot be changed", async (t) => {
  for (const name of ["Message", "MessageId", "Timestamp", "TopicArn", "Type"]) {
    await t.step(name, async () => {
      const other: Fields = {
        Timestamp: new Date(NOW + 1).toISOString(),
        TopicArn: `${TOPIC}2`,
        Type: "UnsubscribeConfirmation",
      };
      const fields = message({}, { [name]: other[name] ?? "other" });
      const more = { SubscribeURL: CONFIRM_URL, Token: "1" };
      const topics = [TOPIC, `${TOPIC}2`];
      equal((await verdict(Object.assign(more, fields), { topics }))[0], "certificate_differs");
    });
  }
  equal((await verdict(message({}, { Subject: "more" })))[0], "certificate_differs");
  equal((await verdict(message({}, { SignatureVersion: "1" })))[0], "certificate_differs");
  equal((await verdict(message({}, { MessageAttributes: "other" })))[0], "ok", "is not signed");
});

test("the end of a message cannot be read as the fields behind it", async () => {
  const inner = "a\nMessageId\nmade-up\nSubject\nx\nTimestamp\n2020-01-01T00:00:00Z";
  const genuine = message({ Message: inner });
  const { MessageId = "", Timestamp = "", Signature = "" } = genuine;
  const rest = `made-up\nSubject\nx\nTimestamp\n2020-01-01T00:00:00Z\nMessageId\n${MessageId}`;
  const moved = message({}, { Message: "a", MessageId: rest, Timestamp, Signature });
  deepEqual(await verdict(moved), ["signature_malformed"]);
});

test("no certificate is asked for where anything else is wrong", async (t) => {
  const cases: [Fields, string][] = [
    [message({ TopicArn: `${TOPIC}2` }), "topic_not_allowed"],
    [message({ Timestamp: new Date(NOW - 3_601_000).toISOString() }), "timestamp_outside_window"],
    [message({ Timestamp: new Date(NOW + 3_601_000).toISOString() }), "timestamp_outside_window"],
    [message({ Timestamp: "yesterday" }), "timestamp_malformed"],
    [message({ SignatureVersion: "3" }), "signature_malformed"],
    [message({ Type: "constructor" }), "signature_malformed"],
    [message({}, { Signature: "bad" }), "signature_malformed"],
    [message({}, { Signature: btoa("x".repeat(64)) }), "signature_malformed"],
    [{}, "signature_missing_in_body"],
  ];
  for (const [fields, reason] of cases) {
    await t.step(reason, async () => deepEqual(await verdict(fields), [reason]));
  }
  const path = PEM_URL.slice(HOST.length);
  for (
    const url of [
      "",
      PEM_URL.replace("https", "http"),
      `https://sns.eu-central-1.amazonaws.com.evil.com${path}`,
      `https://sns.eu-central-1.amazonaws.com@evil.com${path}`,
      `https://evil.com@sns.eu-central-1.amazonaws.com${path}`,
      `https://sns.eu-central-1.amazonaws.com:8443${path}`,
      `https://sns.us-east-1.amazonaws.com${path}`,
      `https://sns.eu-central-1.amazonaws.com.cn${path}`,
      `https://SNS.eu-central-1.amazonaws.com${path}`,
      `https://sqs.eu-central-1.amazonaws.com${path}`,
      `https://127.0.0.1${path}`,
      `${PEM_URL}?x`,
      `${PEM_URL}#x`,
      `${PEM_URL}\n`,
      `${HOST}/?x=/SimpleNotificationService-0123456789abcdef.pem`,
      `${HOST}/SimpleNotificationService-../../a.pem`,
      `${HOST}/SimpleNotificationService-0123456789abcdef.key`,
    ]
  ) {
    await t.step(`URL ${url}`, async () => {
      deepEqual(await verdict(message({ SigningCertURL: url })), ["certificate_foreign"]);
    });
  }
  for (const topics of [[""], ["a secret"], ["arn:aws:sqs:eu-central-1:123456789012:deploys"]]) {
    deepEqual(await verdict(message(), { topics }), ["no_usable_key"]);
  }
});

test("a certificate is of SNS, valid now, and the only thing there", async (t) => {
  const year = 365 * 86_400_000;
  const old = message({ Timestamp: new Date(NOW + year).toISOString() });
  const early = message({ Timestamp: new Date(NOW - year).toISOString() });
  const reason = async (fields: Fields, options: Parameters<typeof verdict>[1]) =>
    (await verdict(fields, options))[0];
  equal(await reason(old, { now: NOW + year }), "certificate_expired");
  equal(await reason(early, { now: NOW - year }), "certificate_expired");
  equal(await reason(message(), { pem: certificates.elsewhere }), "certificate_foreign");
  equal(await reason(message(), { pem: certificates.stranger }), "certificate_foreign");
  for (const pem of ["", "x", `<xml>${certificates.sns}</xml>`, certificates.sns.repeat(2), key]) {
    await t.step(JSON.stringify(pem.slice(0, 40)), async () => {
      equal(await reason(message(), { pem }), "certificate_malformed");
    });
  }
});

const manifest = MANIFEST +
  `---\nkind: SecretStore\nmetadata: {name: topics}\nspec: {data: {deploys: "${TOPIC}"}}\n` +
  triggerYaml("topic", { webhook: "secret: {fromRef: topics}, scheme: sns" });

/** A rig at the time of the messages, and how SNS posts to it. */
async function rigAt(options: Partial<RigOptions> = {}) {
  const rig = await webhookRig(Object.assign({ manifest, certificate: certificates.sns }, options));
  rig.clock.time = NOW;
  const send = (fields: Fields) =>
    rig.post("/webhook/topic", JSON.stringify(fields), {
      "content-type": "text/plain; charset=UTF-8",
    });
  return { rig, send };
}

test("POST: a message starts a task, and again it is a duplicate", async () => {
  const { rig, send } = await rigAt();
  await using _ = rig;
  equal((await (await send(message())).json()).status, "accepted");
  const again = message({}, { UnsubscribeURL: "changed on the way" });
  equal((await (await send(again)).json()).status, "duplicate");
  equal((await send(message({}, { Message: "x" }))).status, 401);
  equal((await rig.tasks()).length, 1);
  deepEqual(rig.visited, []);
});

test("POST: a subscription to an allowed topic is confirmed, and starts nothing", async () => {
  const { rig, send } = await rigAt();
  await using _ = rig;
  equal((await send(confirmation())).status, 200);
  deepEqual(rig.visited, [CONFIRM_URL]);
  const end = confirmation({ Type: "UnsubscribeConfirmation" });
  equal((await send(end)).status, 200);
  equal((await send(confirmation({ TopicArn: `${TOPIC}2` }))).status, 401);
  equal((await send(confirmation({ SubscribeURL: "https://evil.example/?Action=" }))).status, 200);
  deepEqual(rig.visited, [CONFIRM_URL], "nothing else is visited");
  const outcomes = (await rig.deliveries()).map(({ outcome }) => outcome).toSorted();
  deepEqual(outcomes, ["handshake", "handshake", "handshake", "rejected"]);
  equal((await rig.tasks()).length, 0);
});

test("POST: without the certificate SNS is asked to try again", async () => {
  const { rig, send } = await rigAt({ manifest });
  await using _ = rig;
  Object.assign(rig.host, {
    findCertificate: () => Promise.resolve({ failure: "certificate_unreachable" }),
  });
  equal((await send(message())).status, 503);
  const [record] = await rig.deliveries();
  equal(record?.outcome, "rejected");
  match(record?.reason ?? "", /certificate could not be fetched/);
});
