/**
 * `svc tool sign` and what it shares with `svc tool webhook-verify-hmac`: the printed line is read
 * by a real shell, and what one tool signs the other finds valid, for every scheme.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { runCli } from "../../src/cli/run.ts";
import { platformOf } from "../../src/platforms/platforms.ts";
import { SCHEMES } from "../../src/platforms/schemes.ts";
import { startDaemon } from "../helpers/daemon.ts";
import { secretStore } from "../helpers/manifests.ts";
import { ONE_PROGRAM } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { screen } from "../rigs/screen.ts";

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a command line in this process. */
async function svc(
  args: readonly string[],
  given: { readonly env?: Readonly<Record<string, string>>; readonly stdin?: Uint8Array } = {},
): Promise<Run> {
  const { io, text } = screen(false, {
    stdin: () => new Blob([new Uint8Array(given.stdin ?? [])]).stream(),
    env: (name) => given.env?.[name],
  });
  return { code: await runCli(args, io), out: text.out, err: text.err };
}

const sign = (...args: string[]) => svc(["tool", "sign", ...args]);

async function headersOf(...args: string[]): Promise<Record<string, string>> {
  const { code, out, err } = await sign(...args, "-o", "json");
  deepEqual([code, err], [0, ""]);
  return JSON.parse(out).headers;
}

/** The words of a command line, as a shell reads them. */
async function wordsOf(line: string): Promise<string[]> {
  const script = `curl() { printf '%s\\0' "$@"; }\n${line}`;
  const { code, stdout } = await new Deno.Command("/bin/sh", { args: ["-c", script] }).output();
  equal(code, 0);
  return new TextDecoder().decode(stdout).split("\0").slice(0, -1);
}

const URL = "https://svc.example/webhook/t";
const SECRETS: Readonly<Record<string, string>> = {
  "standard-webhooks": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  basic: "user:password",
};
/** Bodies of schemes that find the time of signing or the secret there. */
const BODIES: Readonly<Record<string, string>> = {
  linear: JSON.stringify({ webhookTimestamp: Date.now() }),
  "microsoft-graph": JSON.stringify({ value: [{ clientState: "s3cr3t" }] }),
};
const BODY = '{"it\'s": "$HOME `id` \\\\ \\"x\\"", "n": 1}';

for (const { name, cannotSign } of SCHEMES.filter(({ sign }) => sign !== undefined)) {
  Deno.test(`svc tool sign --scheme ${name}: the line, read by a shell, is valid`, async () => {
    equal(cannotSign, undefined);
    const secret = SECRETS[name] ?? "s3cr3t";
    const sent = BODIES[name] ?? BODY;
    const { code, out, err } = await sign(
      "--scheme",
      name,
      "--secret",
      secret,
      "--body",
      sent,
      "--url",
      `${URL}?a[]=1&b={x}`,
    );
    const { sends } = platformOf(name, undefined) ?? {};
    const hint = sends?.event === undefined ? "" : `names its event in ${sends.event}: add --event`;
    equal(code, 0);
    ok(hint === "" ? err === "" : err.includes(hint), err);
    equal(out.split("\n").length, 2);
    const words = await wordsOf(out);
    deepEqual(words.slice(0, 1), ["--globoff"]);
    const given = words.filter((_, index) => words[index - 1] === "-H")
      .map((header) => header.split(": ").join("="));
    const [body = "", url = ""] = words.slice(-2);
    equal(body, sent);
    ok(given.includes("Content-Type=application/json"));
    const verified = await svc([
      "tool",
      "webhook-verify-hmac",
      "--scheme",
      name,
      "--secret",
      secret,
      "--body",
      body,
      "--url",
      url,
      "--header",
      ...given,
    ]);
    deepEqual(verified, { code: 0, out: "valid\n", err: "" });
    const changed = await svc([
      "tool",
      "webhook-verify-hmac",
      "--scheme",
      name,
      "--secret",
      `A${secret}`,
      "--body",
      body,
      "--url",
      url,
      "--header",
      ...given,
    ]);
    deepEqual([changed.code, changed.out], [1, "invalid\n"]);
  });
}

for (const { name, cannotSign } of SCHEMES.filter(({ sign }) => sign === undefined)) {
  Deno.test(`svc tool sign --scheme ${name}: says why it cannot`, async () => {
    const { code, out, err } = await sign(
      "--scheme",
      name,
      "--secret",
      "00",
      "--body",
      "",
      "--url",
      URL,
    );
    deepEqual([code, out, err], [1, "", `error: Cannot sign: ${cannotSign}\n`]);
  });
}

Deno.test("svc tool sign: signatures of the platforms' own documentation", async () => {
  deepEqual(
    await headersOf(
      "--scheme",
      "github",
      "--secret",
      "It's a Secret to Everybody",
      "--body",
      "Hello, World!",
      "--event",
      "push",
      "--id",
      "72d3162e",
    ),
    {
      "Content-Type": "application/json",
      "X-GitHub-Event": "push",
      "X-GitHub-Delivery": "72d3162e",
      "X-Hub-Signature-256":
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
    },
  );
  deepEqual(
    await headersOf(
      "--scheme",
      "standard-webhooks",
      "--secret",
      "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
      "--body",
      '{"test": 2432232314}',
      "--timestamp",
      "1614265330",
      "--id",
      "msg_p5jXN8AQM9LWM0D4loKWxJek",
    ),
    {
      "Content-Type": "application/json",
      "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
      "webhook-timestamp": "1614265330",
      "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    },
  );
  deepEqual(
    await headersOf(
      "--scheme",
      "twilio",
      "--secret",
      "12345",
      "--url",
      "https://example.com/myapp.php?foo=1&bar=2",
      "--body",
      "To=%2B18005551212&From=%2B14158675310&Digits=1234&Caller=%2B14158675310&CallSid=CA1234567890ABCDE",
      "--id",
      "t1",
    ),
    {
      "Content-Type": "application/x-www-form-urlencoded",
      "I-Twilio-Idempotency-Token": "t1",
      "X-Twilio-Signature": "L/OH5YylLD5NRKLltdqwSvS0BnU=",
    },
  );
  deepEqual(
    await headersOf(
      "--scheme",
      "hmac",
      "--algorithm",
      "sha512",
      "--signature-header",
      "X-Convoy-Signature",
      "--secret",
      "Convoy",
      "--body",
      "Test Payload Body",
      "--content-type",
      "text/plain",
    ),
    {
      "Content-Type": "text/plain",
      "x-convoy-signature":
        "83306382f5361d35351d6de45998f23b52f40bcf96befe4e92f137c0f1bf4a7119388b238d8f9d502ac77e6f1a8849a4778272667ed88d530cac8050bd1fee2d",
    },
  );
});

Deno.test("svc tool sign: a JSON body for Twilio goes to a URL with its hash", async () => {
  const { out } = await sign(
    "--scheme",
    "twilio",
    "--secret",
    "12345",
    "-o",
    "json",
    "--url",
    "https://mycompany.com/myapp.php?foo=1&bar=2",
    "--body",
    '{"property": "value", "boolean": true}',
    "--id",
    "t1",
  );
  deepEqual(JSON.parse(out), {
    url: "https://mycompany.com/myapp.php?foo=1&bar=2&" +
      "bodySHA256=0a1ff7634d9ab3b95db5c9a2dfe9416e41502b283a80c7cf19632632f96e6620",
    headers: {
      "Content-Type": "application/json",
      "I-Twilio-Idempotency-Token": "t1",
      "X-Twilio-Signature": "a9nBmqA0ju/hNViExpshrM61xv4=",
    },
  });
});

Deno.test("svc tool sign: where secret and body may come from", async () => {
  await using dir = await tempDir();
  const file = await dir.write("it's a body", "Hello, World!");
  const secretFile = await dir.write("secret", "It's a Secret to Everybody\n");
  const env = { SECRET: "It's a Secret to Everybody", BODY: "Hello, World!" };
  const stdin = new TextEncoder().encode("Hello, World!");
  const rows: readonly (readonly [string[], string[]])[] = [
    [["--secret-env", "SECRET", "--body-env", "BODY"], ["--data-raw", "Hello, World!"]],
    [["--secret-file", secretFile, "--body-file", file], ["--data-binary", `@${file}`]],
    [["--secret-env", "SECRET", "--body", "-"], ["--data-raw", "Hello, World!"]],
    [["--secret-env", "SECRET", "--body-file", "-"], ["--data-raw", "Hello, World!"]],
  ];
  for (const [args, data] of rows) {
    const { code, out } = await svc(["tool", "sign", "--url", URL, ...args], { env, stdin });
    equal(code, 0);
    deepEqual(await wordsOf(out), [
      "-H",
      "Content-Type: application/json",
      "-H",
      "X-Webhook-Signature: sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
      ...data,
      URL,
    ]);
  }
});

Deno.test("svc tool sign: bad input", async () => {
  const rows: readonly (readonly [string[], number, RegExp, Uint8Array?])[] = [
    [["--secret", "s", "--body", ""], 2, /Give the endpoint: --url/],
    [["--secret", "s", "--body", "", "--url", "svc.example"], 2, /--url takes an http/],
    [["--secret", "s", "--body", "", "--url", "http://a b"], 2, /--url takes an http/],
    [["--secret", "s", "--body", "", "--scheme", "twilio", "-o", "json"], 2, /Give the endpoint/],
    [["--secret", "", "--body", "", "--url", URL], 1, /The secret is empty/],
    [["--body", "", "--url", URL], 2, /Give the secret: --secret/],
    [["--secret", "s", "--url", URL], 2, /Give the body: --body/],
    [["--secret", "s", "--key", "k", "--body", "", "--url", URL], 2, /--key names a key/],
    [["--secret", "s", "--body", "", "--scheme", "slak", "--url", URL], 2, /slak/],
    [["--secret", "s", "--body", "", "--prefix", "x", "--url", URL], 2, /go with --scheme hmac/],
    [["--secret", "s", "--body", "", "--timestamp", "1e9", "--url", URL], 2, /whole number/],
    [
      ["--secret", "s", "--body", "", "--scheme", "standard-webhooks", "--url", URL],
      1,
      /form that/,
    ],
    [["--secret", "a b", "--body", "", "--scheme", "bearer", "--url", URL], 1, /bearer token/],
    [
      ["--secret", "a\nb", "--body", "", "--scheme", "gitlab", "--url", URL],
      1,
      /a header cannot hold/,
    ],
    [
      [
        "--secret",
        "s",
        "--body",
        "",
        "--scheme",
        "hmac",
        "--template",
        "{url}",
        "-o",
        "json",
        "--url",
        URL,
      ],
      1,
      /unusable/,
    ],
    [["--secret-file", "-", "--body", "-", "--url", URL], 2, /cannot both/, new Uint8Array([0x73])],
    [["--secret", "s", "--body", "-", "--url", URL], 1, /use --body-file/, new Uint8Array([0xff])],
  ];
  for (const [args, code, message, stdin] of rows) {
    const run = await svc(["tool", "sign", ...args], stdin === undefined ? {} : { stdin });
    deepEqual([run.code, run.out], [code, ""], args.join(" "));
    match(run.err, message);
  }
});

const SLACK = [
  "tool",
  "webhook-verify-hmac",
  "--scheme",
  "slack",
  "--secret",
  "8f742231b10e8888abcd99yyyzzz85a5",
  "--body",
  "{}",
];
const SLACK_DIGEST = "8fa0e009d1ac24fd3df1706b46c6d972abd5f70b762137c3bb5b4208c84c9607";
const FAR = ["--tolerance", "3000000000"];

Deno.test("svc tool webhook-verify-hmac --scheme slack: comfortable in a plugin", async () => {
  const environment = {
    WEBHOOK_HEADER_X_SLACK_REQUEST_TIMESTAMP: "1531420618",
    WEBHOOK_HEADER_X_SLACK_SIGNATURE: `v0=${SLACK_DIGEST}`,
  };
  const time = ["--timestamp", "1531420618"];
  const rows: readonly (readonly [string[], Record<string, string>, string, RegExp])[] = [
    [[...FAR, ...time, "--signature", `v0=${SLACK_DIGEST}`], {}, "valid\n", /^$/],
    [[...FAR, ...time, "--signature", SLACK_DIGEST], {}, "valid\n", /^$/],
    [[...FAR], environment, "valid\n", /^$/],
    [
      [...FAR, "--signature", SLACK_DIGEST, "--header", "X-Slack-Request-Timestamp=1531420618"],
      {},
      "valid\n",
      /^$/,
    ],
    [[], environment, "invalid\n", /^says it was signed \d+d\d*h? ago, toleranceSecs is 300\n$/],
    [
      [...FAR, "--timestamp", "1531420619"],
      environment,
      "invalid\n",
      /^the signature fits no key of the given secrets \(another secret, or the body was changed on its way\)\n$/,
    ],
    [
      [...FAR, "--signature", ""],
      environment,
      "invalid\n",
      /^the request has no header x-slack-signature, where the signature should be\n$/,
    ],
    [
      [...FAR, "--signature", SLACK_DIGEST],
      {},
      "invalid\n",
      /^the request has no header x-slack-request-timestamp with the time of signing\n$/,
    ],
    [[...FAR, ...time], {}, "", /^error: Give the signature/],
    [[...FAR, "--header", "x", "--signature", "x"], {}, "", /^error: --header takes NAME=VALUE/],
  ];
  for (const [args, env, out, err] of rows) {
    const run = await svc([...SLACK, ...args], { env });
    equal(run.out, out, args.join(" "));
    match(run.err, err);
    deepEqual(run.code, { "valid\n": 0, "invalid\n": 1, "": 2 }[out]);
    ok(!run.err.includes(SLACK_DIGEST));
  }
});

Deno.test("svc tool webhook-verify-hmac: a scheme without a header of the time says so", async () => {
  const { code, err } = await svc([
    "tool",
    "webhook-verify-hmac",
    "--scheme",
    "stripe",
    "--secret",
    "s",
    "--body",
    "",
    "--signature",
    "t=1,v1=0",
    "--timestamp",
    "1",
  ]);
  equal(code, 2);
  match(err, /Scheme "stripe" has no header for --timestamp/);
});

Deno.test("svc tool: --secret-ref reads a SecretStore", async () => {
  await using daemon = await startDaemon(ONE_PROGRAM);
  await daemon.apply(secretStore("hooks", { old: "0ld", now: "It's a Secret to Everybody" }));
  const digest = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
  const check = ["tool", "webhook-verify-hmac", "--body", "Hello, World!", "--signature", digest];
  const make = ["tool", "sign", "--body", "Hello, World!", "-o", "json"];
  const rows: readonly (readonly [string[], number, RegExp])[] = [
    [[...check, "--secret-ref", "hooks"], 0, /^valid\n$/],
    [[...check, "--secret-ref", "hooks", "--key", "now"], 0, /^valid\n$/],
    [[...check, "--secret-ref", "hooks", "--key", "old"], 1, /^invalid\n/],
    [[...check, "--secret-ref", "hooks", "--key", "no"], 4, /has no key "no"/],
    [[...check, "--secret-ref", "nothing"], 4, /nothing/],
    [[...check, "--secret-ref", "hooks", "-p", "other"], 4, /hooks/],
    [[...make, "--secret-ref", "hooks", "--key", "now"], 0, new RegExp(`sha256=${digest}`)],
    [[...make, "--secret-ref", "hooks"], 0, new RegExp(`sha256=${digest}`)], // the newest
  ];
  for (const [args, code, text] of rows) {
    const run = await daemon.svc(args);
    equal(run.code, code, `${args.join(" ")}: ${run.stderr}`);
    match(run.stdout + run.stderr, text);
  }
});
