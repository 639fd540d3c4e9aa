/**
 * What counts as a secret in what leaves, and what only looks like one. Tokens are put together here, so
 * that this file has none.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  doesNotMatch,
  ok,
  strictEqual as equal,
  throws,
} from "node:assert/strict";
import { join } from "node:path";
import { concatBytes, toBase64, toHex, utf8 } from "../../src/base/bytes.ts";
import { findLeak, findLeakInText, leakSentence, refuseLeaks } from "../../src/outputs/leaks.ts";
import { cpuMs } from "../helpers/cpu_time.ts";
import { known } from "../helpers/known_secrets.ts";
import { Random } from "../helpers/random.ts";
import { ROOT } from "../helpers/program.ts";

const NOW = Date.UTC(2026, 0, 1);
const VALUE = "hunter2-is-no-good";
const HOST = { secrets: known(VALUE), clock: { now: () => NOW } };

const random = new Random(7);
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567abcdefghijklmnopqrstuvwxyz0189";
/** Characters of a token: by default letters and digits. */
const chars = (length: number, of = ALPHABET) =>
  Array.from({ length }, () => of[random.below(of.length)]).join("");
const hex = (length: number) => chars(length, "0123456789abcdef");
const upper = (length: number) => chars(length, ALPHABET.slice(0, 32));
const base64url = (value: unknown) =>
  toBase64(utf8(JSON.stringify(value))).replaceAll("+", "-").replaceAll("/", "_")
    .replaceAll("=", "");
const jwt = (payload: unknown, header: unknown = { alg: "HS256", typ: "JWT" }) =>
  `${base64url(header)}.${base64url(payload)}.${chars(43)}`;
const pem = (name: string, newline = "\n") =>
  [
    `-----BEGIN ${name}-----`,
    ...Array.from({ length: 4 }, () => chars(64)),
    `-----END ${name}-----`,
  ].join(newline);

const TOKENS: readonly (readonly [what: string, token: string])[] = [
  ...["ghp", "gho", "ghu", "ghr", "ghs"].map((start) =>
    ["a token of GitHub", `${start}_${chars(36)}`] as const
  ),
  ["a token of GitHub", `ghs_123456_${jwt({ iss: 1 })}`],
  ["a token of GitHub", `github_pat_${chars(22)}_${chars(59)}`],
  ["a token of GitLab", `glpat-${chars(20)}`],
  ["a token of GitLab", `glrt-${chars(20)}`],
  ["a token of Slack", `xoxb-${chars(12, "0123456789")}-${chars(12, "0123456789")}-${chars(24)}`],
  ["a token of Slack", `xapp-1-${upper(11)}-${hex(64)}`],
  [
    "an address of a webhook of Slack",
    `hooks.slack.com/services/T${upper(8)}/B${upper(8)}/${chars(24)}`,
  ],
  ["an access key of AWS", `AKIA${upper(16)}`],
  ["an access key of AWS", `ASIA${upper(16)}`],
  ["an API key of Google", `AIza${chars(35)}`],
  ["a client secret of Google", `GOCSPX-${chars(28)}`],
  ["an access token of Google", `ya29.${chars(60)}`],
  ["a key of OpenAI", `sk-proj-${chars(74)}T3BlbkFJ${chars(74)}`],
  ["a key of OpenAI", `sk-${chars(20)}T3BlbkFJ${chars(20)}`],
  ["a key of Anthropic", `sk-ant-api03-${chars(93)}AA`],
  ["a key of OpenRouter", `sk-or-v1-${hex(64)}`],
  ["a key of Stripe", `sk_live_${chars(24)}`],
  ["a key of Stripe", `rk_live_${chars(24)}`],
  ["a secret of a webhook", `whsec_${chars(43)}=`],
  ["a token of npm", `npm_${chars(36)}`],
  ["a token of PyPI", `pypi-AgEIcHlwaS5vcmc${chars(80)}`],
  ["a key of RubyGems", `rubygems_${hex(48)}`],
  ["a token of Docker", `dckr_pat_${chars(27)}`],
  ["a token of Hugging Face", `hf_${chars(34, "ABCDEFGHIJKLMnopqrstuvwxyz")}`],
  ["a token of DigitalOcean", `dop_v1_${hex(64)}`],
  ["a key of SendGrid", `SG.${chars(22)}.${chars(43)}`],
  ["a token of Shopify", `shpat_${hex(32)}`],
  ["a key of Linear", `lin_api_${chars(40)}`],
  ["a token of Atlassian", `ATATT3${chars(180)}`],
  ["a token of Vault", `hvs.${chars(90)}`],
  ["a key of Azure Storage", `AccountKey=${chars(86)}==`],
  ["a key of age", `AGE-SECRET-KEY-1${upper(58)}`],
  ["a JSON Web Token", jwt({ sub: "u1" })],
  ["a JSON Web Token", jwt({ sub: "u1", exp: NOW / 1000 + 60 })],
  ["a JSON Web Token", jwt({ sub: "u1" }, { kid: "k", alg: "ES256" })],
  ...["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"].map((
    name,
  ) => ["a private key", pem(name)] as const),
  ["a private key", pem("PRIVATE KEY", "\\n")],
  ["a private key", pem("EC PRIVATE KEY", '" +\n    "')],
];

/** How a token stands in a file. */
const AROUND: readonly ((token: string) => string)[] = [
  (token) => token,
  (token) => `const token = "${token}";\n`,
  (token) => `TOKEN=${token}\n`,
  (token) => `https://${token}@example.com`,
  (token) => `{"text":"first line\\n${token}\\n"}`,
  (token) => `<${token}>`,
];

Deno.test("each form of token is found, however it stands in a file", () => {
  for (const [what, token] of TOKENS) {
    for (const around of AROUND) {
      deepEqual(
        findLeakInText(`\n\n${around(token)}`, HOST),
        { what, line: 3 },
        `${what} in ${around("…")}`,
      );
    }
  }
});

Deno.test("a known value is found in the forms that are hidden in logs", () => {
  for (
    const form of [
      VALUE,
      toBase64(utf8(VALUE)),
      toBase64(utf8(`user:${VALUE}`)),
      toHex(utf8(VALUE)),
      `x${VALUE}y`,
    ]
  ) {
    equal(findLeakInText(`a\n${form}`, HOST)?.line, 2, form);
  }
});

const TOO_SHORT = TOKENS.filter(([, token]) => !token.startsWith("-----"))
  .map(([, token]) => token.slice(0, 18));

const HARMLESS: Readonly<Record<string, readonly string[]>> = {
  "beginnings of tokens": TOO_SHORT,
  "what stands for a token": [
    `ghp_${"x".repeat(36)}`,
    `ghp_${"0".repeat(36)}`,
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "AKIAIOSFODNN7EXAMPLE",
    `sk-ant-api03-${"your-key-here".repeat(8)}`,
    `npm_${"X".repeat(36)}`,
    `xoxb-${"123456789012-".repeat(3)}abc`,
    `glpat-${"a".repeat(20)}`,
  ],
  "names and words": [
    `the form of a token is ghp_[A-Za-z0-9]{36}`,
    `const npm_${"configuration".repeat(2)} = 1`,
    "hf_hub_download_with_a_very_long_name_of_function",
    "sk-project-details-of-the-page-which-is-a-css-class",
    "https://hooks.slack.com/services/T000/B000/XXXX",
    "eyJhbGciOiJIUzI1NiJ9 is the header",
  ],
  "hashes and ids": [
    `sha512-${chars(86)}==`,
    `"integrity": "sha256-${chars(43)}="`,
    `sha256:${hex(64)}`,
    hex(40),
    crypto.randomUUID(),
    `index ${hex(40)}..${hex(40)} 100644`,
    `h1:${chars(43)}=`,
  ],
  "tokens that are not alone": [
    `${chars(5)}AKIA${upper(16)}`,
    `data:image/png;base64,${chars(200)}/AKIA${upper(16)}${chars(200)}`,
    `${chars(9)}AIza${chars(35)}`,
  ],
  "JSON Web Tokens that open nothing": [
    jwt({ sub: "u1", exp: NOW / 1000 - 60 }),
    jwt({ sub: "1234567890", name: "John Doe" }),
    jwt("not an object"),
    jwt({ sub: "u1" }, { typ: "JWT" }),
    `${base64url({ alg: "none" })}.${base64url({ sub: "u1" })}.`,
    `eyJ${chars(30)}.${chars(30)}.${chars(43)}`,
  ],
  "private keys without a key": [
    'if (text.startsWith("-----BEGIN PRIVATE KEY-----")) return pem;',
    "-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nMIIEvQ…\n-----END PRIVATE KEY-----",
    `-----BEGIN PRIVATE KEY-----\n${"A".repeat(64)}\n-----END PRIVATE KEY-----`,
    pem("CERTIFICATE"),
    pem("PUBLIC KEY"),
  ],
  "values that are too short to be known": ["hunte"],
};

for (const [what, texts] of Object.entries(HARMLESS)) {
  Deno.test(`no leak: ${what}`, () => {
    for (const text of texts) {
      for (const around of AROUND) equal(findLeakInText(around(text), HOST), undefined, text);
    }
  });
}

Deno.test("no leak: lock files, minified code and pictures", async () => {
  const minified = `!function(e,t){${chars(300_000, `${ALPHABET}(){};.,=_-"'`)}}();`;
  const bytes = crypto.getRandomValues(new Uint8Array(60_000));
  const lock = await Deno.readFile(join(ROOT, "deno.lock"));
  for (
    const file of [
      lock,
      utf8(minified),
      utf8(toBase64(bytes)),
      concatBytes(bytes, bytes),
      utf8(Array.from({ length: 3000 }, () => `sha512-${toBase64(bytes.slice(0, 64))}`).join("\n")),
    ]
  ) {
    equal(await findLeak(file, HOST), undefined);
  }
});

Deno.test("known values are found where forms of tokens are allowed", async () => {
  const token = utf8(`ghp_${chars(36)}`);
  equal((await findLeak(token, HOST))?.what, "a token of GitHub");
  equal(await findLeak(token, HOST, { forms: false }), undefined);
  equal((await findLeak(utf8(`\n${VALUE}`), HOST, { forms: false }))?.line, 2);
});

Deno.test("a secret is found wherever the search divides the bytes", async () => {
  const part = 256 * 1024;
  for (const secret of [VALUE, `ghp_${chars(36)}`, pem("PRIVATE KEY")]) {
    for (const at of [part - 40, part - 5, part - 3, part - 1, part, part + 1, 2 * part - 2]) {
      const bytes = new Uint8Array(3 * part).fill(0x2e);
      bytes[0] = 0x0a;
      bytes.set(utf8(secret), at);
      equal((await findLeak(bytes, HOST))?.line, 2, `${secret.slice(0, 4)} at ${at}`);
    }
  }
});

Deno.test("a stranger's 2 MiB cost less than a second, whatever is in them", async () => {
  const size = 2 * 1024 * 1024;
  const filled = (piece: string) => utf8(piece.repeat(Math.ceil(size / piece.length)));
  for (
    const piece of [
      "ghp_",
      "ghs_",
      "eyJh",
      "eyJh.",
      "xoxb-",
      `sk-ant-api03-${"a".repeat(40)} `,
      "-----BEGIN PRIVATE KEY-----",
      `-----BEGIN PRIVATE KEY-----${chars(39)}`,
      `${base64url({ alg: "x" })}.${base64url({ exp: 1 })}.${"a".repeat(43)} `,
      VALUE.slice(0, -1),
      "\n",
    ]
  ) {
    const bytes = filled(piece);
    const before = cpuMs();
    equal(await findLeak(bytes, HOST), undefined, piece);
    const took = cpuMs() - before;
    ok(took < 1000, `${JSON.stringify(piece.slice(0, 40))} took ${Math.round(took)} ms`);
  }
});

Deno.test("other work goes on during a search", async () => {
  const order: string[] = [];
  const search = findLeak(new Uint8Array(4 * 1024 * 1024), HOST).then(() => order.push("search"));
  setTimeout(() => order.push("other"), 0);
  await search;
  deepEqual(order, ["other", "search"]);
});

Deno.test("a refusal tells the place and no secret", () => {
  const token = `ghp_${chars(36)}`;
  refuseLeaks({ title: "Fix", body: "Nothing\nhere" }, HOST);
  for (
    const [texts, said] of [
      [{ title: `a ${token}`, body: "b" }, "The title has a token of GitHub"],
      [{ title: "a", body: `b\n\n${token}` }, "Line 3 of the body has a token of GitHub"],
      [{ label: VALUE }, "The label has a secret that svc knows"],
    ] as const
  ) {
    throws(() => refuseLeaks(texts, HOST), (error: Error) => {
      ok(error.message.startsWith(said), error.message);
      doesNotMatch(error.message, new RegExp(`${token}|${VALUE}`));
      return true;
    });
  }
  equal(
    leakSentence("src/a\u202e\n.ts", { what: "a token of npm", line: 7 }),
    "src/a\\u202e\\u000a.ts:7 has a token of npm: svc sends nothing with a secret in it",
  );
});
