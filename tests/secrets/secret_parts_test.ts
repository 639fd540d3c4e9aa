/**
 * Values that are documents: what of them is hidden where it is printed alone, and what stays to be
 * read, because everybody has it.
 *
 * @module
 */

import { strictEqual as equal } from "node:assert/strict";
import { known } from "../helpers/known_secrets.ts";

const PEM = [
  "-----BEGIN PRIVATE KEY-----",
  "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj",
  "MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu",
  "-----END PRIVATE KEY-----",
  "",
].join("\n");

const ACCOUNT = JSON.stringify(
  {
    type: "service_account",
    project_id: "p",
    private_key_id: "0123456789abcdef0123456789abcdef01234567",
    private_key: PEM,
    client_email: "svc@p.iam.gserviceaccount.com",
    auth_uri: "https://accounts.google.com/o/oauth2/auth",
    token_uri: "https://oauth2.googleapis.com/token",
    nested: [{ refresh: "1//0gabcdefghijklmnopq", password: 'hunter"2' }],
  },
  null,
  2,
);

const NTFY = "http://push.example:8080/svc-4f0c61d2b97a?auth=QUJDREVGR0g";
const SLACK = "https://hooks.slack.com/services/T01ABCDEF/B02ABCDEFG/aBcDeFgHiJkLmNoPqRsTuVwX";
const DISCORD = "https://discord.com/api/webhooks/123456789012345678/abcDEF-ghi_jkl";
const GOTIFY = "https://gotify.example/message?token=AbCdEf.1234567&priority=5";
const TELEGRAM = "https://api.telegram.org/bot123456789:AAE-abcDEF_ghi/sendMessage?chat_id=-100";
const ESCAPED = "https://h.example/top%20secret%2Fname?key=a%2Bb%3Dcdef+g";
const REMOTE = "https://x-access-token:ghs_16C7e42F292c6912E7@github.com/acme/app.git";
const ENV_FILE =
  `# of the app\nexport API_KEY=sk-9f8e\nDB_PASSWORD='p4ss w0rd'\nLEVEL=information\n`;

interface Case {
  readonly what: string;
  readonly secret: string;
  /** Texts that show none of it. */
  readonly hidden: readonly (readonly [text: string, shown: string])[];
  /** Texts that stay as they are. */
  readonly left?: readonly string[];
}

const CASES: readonly Case[] = [
  {
    what: "an address of ntfy",
    secret: NTFY,
    hidden: [
      ["not allowed to publish to svc-4f0c61d2b97a", "not allowed to publish to ***"],
      ["> POST /svc-4f0c61d2b97a?auth=QUJDREVGR0g HTTP/1.1", "> POST *** HTTP/1.1"],
      ["topic=svc-4f0c61d2b97a&x=1", "topic=***&x=1"],
      ["the token QUJDREVGR0g is unknown", "the token *** is unknown"],
      ["UVVKRFJFVkdSMGc=", "***"],
      ["c3ZjLTRmMGM2MWQyYjk3YQ==", "***"],
      [NTFY, "***"],
    ],
    left: ["Host: push.example:8080", "the auth of it"],
  },
  {
    what: "a topic that is a word",
    secret: "https://ntfy.sh/mybackups",
    hidden: [["publish to mybackups", "publish to ***"], ["POST /mybackups", "POST ***"]],
    left: ["ntfy.sh"],
  },
  {
    what: "an address of Slack",
    secret: SLACK,
    hidden: [
      [
        "> POST /services/T01ABCDEF/B02ABCDEFG/aBcDeFgHiJkLmNoPqRsTuVwX HTTP/2",
        "> POST *** HTTP/2",
      ],
      ["no_service aBcDeFgHiJkLmNoPqRsTuVwX", "no_service ***"],
      ["team T01ABCDEF", "team ***"],
      [
        "\\/services\\/T01ABCDEF\\/B02ABCDEFG\\/aBcDeFgHiJkLmNoPqRsTuVwX",
        "***",
      ],
    ],
    left: ["hooks.slack.com", "/services/", "all services and hooks"],
  },
  {
    what: "an address of Discord",
    secret: DISCORD,
    hidden: [["webhook 123456789012345678: abcDEF-ghi_jkl", "webhook ***: ***"]],
    left: ["/api/webhooks/", "discord.com"],
  },
  {
    what: "an address of Gotify",
    secret: GOTIFY,
    hidden: [["token=AbCdEf.1234567", "token=***"], ["AbCdEf.1234567", "***"]],
    left: ["a message with a token", "POST /message", "priority=5"],
  },
  {
    what: "an address of Telegram",
    secret: TELEGRAM,
    hidden: [["bot123456789:AAE-abcDEF_ghi", "***"]],
    left: ["sendMessage", "chat_id", "api.telegram.org"],
  },
  {
    what: "an address with percent escapes",
    secret: ESCAPED,
    hidden: [
      ["/top%20secret%2Fname", "***"],
      ["top secret/name", "***"],
      ["top%20secret%2fname", "***"],
      ["a+b=cdef g", "***"],
      ["a%2Bb%3Dcdef+g", "***"],
    ],
  },
  {
    what: "words on the way of an address",
    secret: "https://h.example/platform/hooks/production/3f9a77c1",
    hidden: [["/platform/hooks/production/3f9a77c1", "***"], ["3f9a77c1", "***"]],
    left: ["the platform in production", "hooks"],
  },
  {
    what: "an address without a secret",
    secret: "https://h.example/api/v1/webhooks/incoming",
    hidden: [["https://h.example/api/v1/webhooks/incoming", "***"]],
    left: ["/api/v1/webhooks/incoming", "api", "incoming webhooks"],
  },
  {
    what: "a git remote with a token",
    secret: REMOTE,
    hidden: [
      ["remote: ghs_16C7e42F292c6912E7 has expired", "remote: *** has expired"],
      ["eC1hY2Nlc3MtdG9rZW46Z2hzXzE2QzdlNDJGMjkyYzY5MTJFNw==", "eC1hY2Nlc3MtdG9rZW46***"],
    ],
    left: ["https://github.com/acme/app.git", "x-access-token"],
  },
  {
    what: "a git remote whose user is the token",
    secret: "https://ghp_16C7e42F292c6912E7:x-oauth-basic@github.com/acme/app",
    hidden: [["ghp_16C7e42F292c6912E7", "***"]],
    left: ["x-oauth-basic", "acme/app"],
  },
  {
    what: "the address of a database",
    secret: "postgres://svc_run:p%40ss-w0rd@db.example/production?sslmode=verify-full",
    hidden: [["p@ss-w0rd", "***"], ["p%40ss-w0rd", "***"]],
    left: ["/production", "in production", "verify-full", "db.example"],
  },
  {
    what: "the JSON of a service account",
    secret: ACCOUNT,
    hidden: [
      [PEM.trimEnd(), "***"],
      ["  MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu", "  ***"],
      ["svc@p.iam.gserviceaccount.com", "***"],
      ["1//0gabcdefghijklmnopq", "***"],
      ['hunter"2 or hunter\\"2', "*** or ***"],
      [btoa(PEM), "***"],
      ["0123456789abcdef0123456789abcdef01234567", "***"],
      [JSON.stringify(JSON.parse(ACCOUNT).private_key).slice(1, -1), "***"],
    ],
    left: [
      "service_account",
      "https://oauth2.googleapis.com/token",
      "https://accounts.google.com/o/oauth2/auth",
      "-----BEGIN PRIVATE KEY-----",
      "client_email",
    ],
  },
  {
    what: "the same in base64",
    secret: btoa(ACCOUNT),
    hidden: [["1//0gabcdefghijklmnopq", "***"], ["svc@p.iam.gserviceaccount.com", "***"]],
    left: ["service_account"],
  },
  {
    what: "the credentials of a registry",
    secret: JSON.stringify({ auths: { "ghcr.io": { auth: btoa("user:s3cr3t-of-it") } } }),
    hidden: [["s3cr3t-of-it", "***"], [btoa("user:s3cr3t-of-it"), "***"]],
    left: ["ghcr.io", "auths"],
  },
  {
    what: "a file of settings",
    secret: ENV_FILE,
    hidden: [["sk-9f8e", "***"], ["p4ss w0rd", "***"], ["API_KEY=sk-9f8e", "API_KEY=***"]],
    left: ["information", "# of the app", "API_KEY"],
  },
  {
    what: "the credentials of AWS",
    secret:
      "[default]\naws_access_key_id = AKIAIOSFODNN7EX\naws_secret_access_key = wJalr/K7MDENG\n",
    hidden: [["AKIAIOSFODNN7EX", "***"], ["wJalr/K7MDENG", "***"]],
    left: ["[default]", "aws_secret_access_key"],
  },
  {
    what: "user and password",
    secret: "deploy:tr0ub4dor",
    hidden: [["tr0ub4dor", "***"], ["deploy:tr0ub4dor", "***"]],
    left: ["deploy"],
  },
  {
    what: "a password file",
    secret: "db.example:5432:svc:svc:s3cr3t-pg",
    hidden: [["s3cr3t-pg", "***"]],
    left: ["db.example"],
  },
  {
    what: "the value of a header",
    secret: "Bearer abcdefgh12345678",
    hidden: [["abcdefgh12345678", "***"]],
    left: ["Bearer"],
  },
  {
    what: "a connection string",
    secret: "Server=db;User Id=sa;Password=Hunt3r2;",
    hidden: [["Hunt3r2", "***"]],
    left: ["Server=db", "User Id"],
  },
  {
    what: "a .netrc",
    secret: "machine h.example login me password s3cr3tpw",
    hidden: [["s3cr3tpw", "***"]],
    left: ["machine", "h.example"],
  },
  {
    what: "a value as echo of dash prints it",
    secret: "first\\nsecond-line\\tof it",
    hidden: [["first\nsecond-line\tof it", "***"]],
  },
  {
    what: "hexadecimal",
    secret: "s3cr3t-value",
    hidden: [["7333637233742d76616c7565", "***"], ["7333637233742D76616C7565", "***"]],
  },
  {
    what: "JSON as Go and Python write it",
    secret: "a<b>&é-value",
    hidden: [["a\\u003cb\\u003e\\u0026é-value", "***"], ["a<b>&\\u00e9-value", "***"]],
  },
  {
    what: "a sentence",
    secret: "correct horse battery staple",
    hidden: [["correct horse battery staple", "***"]],
    left: ["correct", "the battery of a horse"],
  },
];

for (const { what, secret, hidden, left = [] } of CASES) {
  Deno.test(`the parts of a secret are hidden: ${what}`, () => {
    const secrets = known(secret);
    for (const [text, shown] of hidden) equal(secrets.redact(text), shown);
    for (const text of left) equal(secrets.redact(text), text);
  });
}

Deno.test("the parts of a secret are hidden wherever the chunks of a stream are cut", () => {
  const secrets = known(SLACK, ACCOUNT);
  const text = `> POST ${
    new URL(SLACK).pathname
  } HTTP/2\n${PEM}\nclient svc@p.iam.gserviceaccount.com\n`;
  const bytes = new TextEncoder().encode(text);
  const whole = secrets.redact(text);
  for (let cut = 0; cut <= bytes.length; cut++) {
    const redactor = secrets.redactor();
    const shown = [
      redactor.push(bytes.subarray(0, cut)),
      redactor.push(bytes.subarray(cut)),
      redactor.flush(),
    ].map((part) => new TextDecoder().decode(part)).join("");
    equal(shown, whole, `cut at ${cut}`);
  }
});
