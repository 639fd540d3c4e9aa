/**
 * Amazon SNS. The requests and their certificate, which is long expired, are those that the AWS SDK
 * for Ruby is tested with: SNS signed them.
 *
 * @module
 */

import type { Facts } from "../signatures/platform_cases.ts";
import type { Sample } from "./sample.ts";

const TOPIC = "arn:aws:sns:eu-central-1:123456789012:deploys";

const CERTIFICATE_URL =
  "https://sns.us-east-2.amazonaws.com/SimpleNotificationService-7ff5318490ec183fbaddaa2a969abfda.pem";

/** Valid until 2022-08-17. */
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIF1zCCBL+gAwIBAgIQB9pYWG3Mi7xej22g9pobJTANBgkqhkiG9w0BAQsFADBG
MQswCQYDVQQGEwJVUzEPMA0GA1UEChMGQW1hem9uMRUwEwYDVQQLEwxTZXJ2ZXIg
Q0EgMUIxDzANBgNVBAMTBkFtYXpvbjAeFw0yMTA5MDcwMDAwMDBaFw0yMjA4MTcy
MzU5NTlaMBwxGjAYBgNVBAMTEXNucy5hbWF6b25hd3MuY29tMIIBIjANBgkqhkiG
9w0BAQEFAAOCAQ8AMIIBCgKCAQEAutFqueT3XgP13udzxE6UpbdjOtVO5DwoMpSM
iDNMnGzF1TYH5/R2LPUOBeTB0SkKnR4kpNcUZhicpGD4aKciz/GEZ6wu65xncfT9
H/KBOQwoXYTuClHwp6fYpGzcGFaFoEYMnijL/o4qmTSd+ukglQUgKpsDw4ofw6rU
m2CttJo+GQSNQ9NfGR1h/0J+zsApkeSYrXRx5wNlu87z8os1C/6PBrUHwt3xXeaf
Xzfwut8aRRYsS8BySOA9DAgLfNHlfdQCjKPXKrG/ussgReyWD6n/HH+j7Uha3xos
TzQqJifcxlTq6MxWdPR6fDaJNvqw6DOE7UjUNxHguXHlVfxhlQIDAQABo4IC6TCC
AuUwHwYDVR0jBBgwFoAUWaRmBlKge5WSPKOUByeWdFv5PdAwHQYDVR0OBBYEFAqz
C+vyouneE7mWWLbi9i0UsWUbMBwGA1UdEQQVMBOCEXNucy5hbWF6b25hd3MuY29t
MA4GA1UdDwEB/wQEAwIFoDAdBgNVHSUEFjAUBggrBgEFBQcDAQYIKwYBBQUHAwIw
OwYDVR0fBDQwMjAwoC6gLIYqaHR0cDovL2NybC5zY2ExYi5hbWF6b250cnVzdC5j
b20vc2NhMWIuY3JsMBMGA1UdIAQMMAowCAYGZ4EMAQIBMHUGCCsGAQUFBwEBBGkw
ZzAtBggrBgEFBQcwAYYhaHR0cDovL29jc3Auc2NhMWIuYW1hem9udHJ1c3QuY29t
MDYGCCsGAQUFBzAChipodHRwOi8vY3J0LnNjYTFiLmFtYXpvbnRydXN0LmNvbS9z
Y2ExYi5jcnQwDAYDVR0TAQH/BAIwADCCAX0GCisGAQQB1nkCBAIEggFtBIIBaQFn
AHYAKXm+8J45OSHwVnOfY6V35b5XfZxgCvj5TV0mXCVdx4QAAAF7vfDVkQAABAMA
RzBFAiEA2XfHuy36aqRFiaL8c3md2mH451go8707+fRE0pEdSRACIE/g5FXTUXUZ
PFcmOhm9TZ+uMY1i4CIQ/CKVWln6C3t+AHYAUaOw9f0BeZxWbbg3eI8MpHrMGyfL
956IQpoN/tSLBeUAAAF7vfDVjAAABAMARzBFAiBF1MhhFP0+FQt3daDFfMYoWwnr
muTInrjNpwfzlvQBugIhAPYadFzr+LaxSJoiZEbEHBvTts7bT0M3eCQONA2O7w6n
AHUAQcjKsd8iRkoQxqE6CUKHXk4xixsD6+tLx2jwkGKWBvYAAAF7vfDVdAAABAMA
RjBEAiAtPapmFAuA71ih4NoSd5hJelzAltNQpxDMcDfDyHyU8gIgWxmaa6+2KbBu
9xdv379zvnJACFR7jc+4asl08Dn4aagwDQYJKoZIhvcNAQELBQADggEBAA54QX0u
oFWXfMmv02CGZv4NWo5TapyeeixQ2kKpZHRdVZjxZrw+hoF6HD7P3kGjH8ztyJll
tDxB0qgMltbPhQdScwhA6iTgoaBYqEUC/VHKd4PmmPT6yIsM36NBZVmkGlzl5uNo
/dBgBaG0SsVJnhr5zro3c2quC7n6fVGEZhf/UgQwRnnvThnvbNKguglDMq4uEqv8
njKyleht+glkcmXO0m9qLKt6BOS0amy6U2GlAwRn0Wx02ndJtnRCSC6kPuRWK/SQ
FEjB7gCK4hdKaAOuWdZpI55vF6ifOeM8toC3g7ofO8qLTnJupAG+ZitY5J3cvHWr
HqOUdKigPDHYLRo=
-----END CERTIFICATE-----
`;

/** As SNS writes it, with a blank before each colon. */
function message(fields: Readonly<Record<string, string>>): string {
  const lines = Object.entries(fields).map(([name, value]) =>
    `  "${name}" : ${JSON.stringify(value)}`
  );
  return `{\n${lines.join(",\n")}\n}`;
}

const SNS: Facts & { readonly certificate: string; readonly headers: Record<string, string> } = {
  scheme: "sns",
  header: "",
  headers: { "Content-Type": "text/plain; charset=UTF-8" },
  certificate: CERTIFICATE,
  signs: { time: "in the body", body: false },
  memberOfSignature: "Signature",
  otherSecret: TOPIC,
};

const CONFIRM =
  "https://sns.eu-central-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=a&Token=1";

/** Amazon SNS. */
export const sample: Sample = {
  requests: [{
    ...SNS,
    name: "sns, version 1",
    secret:
      "arn:aws:sns:us-east-2:295079676684:publish-and-verify-892f85fe-4836-424d-8188-ab85bef0f362",
    body_utf8: message({
      Type: "Notification",
      MessageId: "792cda85-518f-5dd3-9163-81d851212f3a",
      TopicArn:
        "arn:aws:sns:us-east-2:295079676684:publish-and-verify-892f85fe-4836-424d-8188-ab85bef0f362",
      Message: "Hello world",
      Timestamp: "2022-07-28T21:23:58.317Z",
      SignatureVersion: "1",
      Signature:
        "ghtf+deOBAzHJJZ6s6CdRLfTQAlcGzq9naoFM1wi0CJiq//uVRuZnamrkWNF0fhouMFvuLVRwcz8PZLUMSfn" +
        "md5VpdTKpTyiKmy1qJAZXma0w+yi7G+I33hD1Jyk1Nbym2n0kqp3fVu2aoooiN2ZeLAT2bH0/BtjLSfN1yAO" +
        "KNoprco4qV9gGUZinXJdj9a1YdNhDR2jKi33ldlsVtEXAtiaDklGEk7DgRKX38GerBPiLg3FdtgY6KC7cdeG" +
        "pU/dGK+4hjc83Ive1HoFkAwqhpgInM2sMytBosoiXfCmOKmU4xeGD0gHDNZTlJUJQDlzw8Eag0H9f/5zXF9d" +
        "3uy0YQ==",
      SigningCertURL: CERTIFICATE_URL,
    }),
    now: 1659043438,
  }, {
    ...SNS,
    name: "sns, version 2",
    secret:
      "arn:aws:sns:us-east-2:295079676684:publish-and-verify-62674b1d-4295-426b-88e7-5fb75652a04e",
    body_utf8: message({
      Type: "Notification",
      MessageId: "17dea24b-55c2-540b-8362-f916557af765",
      TopicArn:
        "arn:aws:sns:us-east-2:295079676684:publish-and-verify-62674b1d-4295-426b-88e7-5fb75652a04e",
      Message: "Hello world",
      Timestamp: "2022-07-28T21:24:08.324Z",
      SignatureVersion: "2",
      Signature:
        "CXVqp9PfZAL+4JHS3Zxo1PFbQsvnOjvmYhtIf17TWpwc+iIVas8kZ8GopuzVzVMdatE7rCl/O4P91Zp05Dwz" +
        "8lk8dLhfp8gSu3Njlzxlyrmzo9x3va3Jb7zFnedgS2GKnZWHGBdwTXho+TosNUE+3e10OMSlwN5XGDwX7+R3" +
        "WL+rn+AXmFAqp3alg27sYa55h1dLE9cGszGPjScPdtF3BmZsUDMx9wSdNKsCk+vSvE8yBjnCmUl7laSFj3Lz" +
        "PVrlSwgNYCF3kYnNAkah7NplK4SFhJYLwS0HCVCQJKa8rVbQLf9cBTu60U402mrgy0bN8xWoyimzbYbrOMJj" +
        "alqkUg==",
      SigningCertURL: CERTIFICATE_URL,
    }),
    now: 1659043448,
  }],
  handshakes: [
    {
      payload: { Type: "SubscriptionConfirmation", TopicArn: TOPIC, SubscribeURL: CONFIRM },
      secret: TOPIC,
      answer: [200, '{"status":"pong"}'],
    },
    { payload: { Type: "UnsubscribeConfirmation" }, answer: [200, '{"status":"pong"}'] },
  ],
  events: [
    {
      payload: { Type: "Notification", MessageId: "m1", SubscribeURL: CONFIRM },
      messageId: "m1",
      id: { id: "m1", signed: true },
    },
    { payload: { Type: "Notification", MessageId: "m1" } },
  ],
};
