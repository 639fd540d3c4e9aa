/**
 * The forms of tokens and keys that platforms give out, found in bytes. A form counts where nothing but
 * a token looks like it: words of a platform's own at its beginning, and a length. What stands for a
 * token in documentation and tests (few different characters, `EXAMPLE`, the alphabet) is none.
 *
 * ```ts
 * import { findToken } from "./token_forms.ts";
 * import { strictEqual as equal } from "node:assert/strict";
 *
 * const bytes = new TextEncoder().encode("token: ghp_" + "k3J9sQ1xZ7pLw2Vb8NtR5mYc6HdF4gTa0UeX");
 * const found = [...findToken(bytes, 0)].find((one) => one !== undefined);
 * equal(found?.what, "a token of GitHub");
 * ```
 *
 * @module
 */

import { findText, latin1Text } from "../base/bytes.ts";
import { isJsonObject } from "../base/json.ts";
import { SecretPattern } from "../secrets/redact.ts";

/** A form of tokens. */
interface TokenForm {
  /** What it is, for sentences. */
  readonly what: string;
  /** Texts with which it begins, each of four characters or more; patterns are tried only there. */
  readonly starts: readonly string[];
  /** What it looks like from such a text on; sticky. */
  readonly pattern: RegExp;
  /** Whether a match is one after all. */
  readonly check: (match: string, at: Place) => boolean;
}

/** The text of a match, and the time. */
interface Place {
  readonly text: string;
  /** Index behind the match. */
  readonly end: number;
  readonly now: number;
}

/** A token that was found. */
export interface FoundToken {
  /** What it is: `a token of GitHub`. */
  readonly what: string;
  /** Index of its first byte. */
  readonly at: number;
}

/** Behind no character of a longer word; the letter of an escape such as `\n`, and `//`, are none. */
const ALONE = String.raw`(?:(?<![\w+/-])|(?<=\\[nrt]|//))`;

const BASE64URL = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"];

const PRIVATE_KEY = /-----BEGIN (?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----/y;

const FORMS: readonly TokenForm[] = [
  form("a token of GitHub", "ghp_ gho_ ghu_ ghr_", String.raw`gh[pour]_[A-Za-z0-9]{36,}`),
  form("a token of GitHub", "ghs_", String.raw`ghs_[\w.-]{36,}`),
  form("a token of GitHub", "github_pat_", String.raw`github_pat_\w{50,}`),
  form(
    "a token of GitLab",
    "glpat- gldt- glrt- glcbt- glptt- glft- glsoat- glimt- glagent-",
    String.raw`gl(?:pat|dt|rt|cbt|ptt|ft|soat|imt|agent)-[\w.-]{20,}`,
  ),
  form(
    "a token of Slack",
    "xoxa- xoxb- xoxe- xoxe. xoxp- xoxr- xoxs-",
    "xox[a-z][-.][A-Za-z0-9-]{24,}",
  ),
  form("a token of Slack", "xapp-", String.raw`xapp-\d-[A-Za-z0-9-]{24,}`),
  form(
    "an address of a webhook of Slack",
    "hooks.slack.com/",
    String.raw`hooks\.slack\.com/(?:services|workflows|triggers)/\w{8,}/\w{8,}/\w{16,}`,
  ),
  form(
    "an access key of AWS",
    "AKIA ASIA ABIA ACCA",
    `${ALONE}A(?:KI|SI|BI|CC)A[A-Z2-7]{16}(?![A-Za-z0-9+/])`,
  ),
  form("an API key of Google", "AIza", String.raw`${ALONE}AIza[\w-]{35}(?![\w-])`),
  form("a client secret of Google", "GOCSPX-", String.raw`GOCSPX-[\w-]{24,}`),
  form("an access token of Google", "ya29.", String.raw`${ALONE}ya29\.[\w-]{30,}`),
  form(
    "a key of OpenAI",
    "sk-proj- sk-svcacct- sk-admin-",
    String.raw`sk-(?:proj|svcacct|admin)-[\w-]{32,}`,
  ),
  form("a key of OpenAI", "T3BlbkFJ", String.raw`(?<=sk-[A-Za-z0-9]{20})T3BlbkFJ[A-Za-z0-9]{20}`),
  form("a key of Anthropic", "sk-ant-", String.raw`sk-ant-[a-z]+\d\d-[\w-]{32,}`),
  form("a key of OpenRouter", "sk-or-v1-", "sk-or-v1-[0-9a-f]{64}"),
  form("a key of Stripe", "sk_live_ rk_live_", "[sr]k_live_[A-Za-z0-9]{20,}"),
  form("a secret of a webhook", "whsec_", `${ALONE}whsec_[A-Za-z0-9+/]{32,}`),
  form("a token of npm", "npm_", `${ALONE}npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])`),
  form("a token of PyPI", "pypi-AgEI", String.raw`pypi-AgEI[\w-]{50,}`),
  form("a key of RubyGems", "rubygems_", "rubygems_[0-9a-f]{48}"),
  form("a token of Docker", "dckr_pat_ dckr_oat_", String.raw`dckr_[po]at_[\w-]{24,}`),
  form("a token of Hugging Face", starts("hf_"), `${ALONE}hf_[A-Za-z]{34}(?![A-Za-z0-9_])`),
  form("a token of DigitalOcean", "dop_v1_ doo_v1_ dor_v1_", "do[por]_v1_[0-9a-f]{64}"),
  form("a key of SendGrid", starts("SG."), String.raw`${ALONE}SG\.[\w-]{22}\.[\w-]{43}(?![\w-])`),
  form("a token of Shopify", "shpat_ shpca_ shppa_ shpss_", "shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
  form("a key of Linear", "lin_api_", "lin_api_[A-Za-z0-9]{40}"),
  form("a token of Atlassian", "ATATT3", String.raw`${ALONE}ATATT3[\w=-]{100,}`),
  form("a token of Vault", "hvs.", String.raw`${ALONE}hvs\.[\w-]{80,}`),
  form("a key of Azure Storage", "AccountKey=", "AccountKey=[A-Za-z0-9+/]{86}=="),
  form("a key of age", "AGE-SECRET-KEY-1", "AGE-SECRET-KEY-1[0-9A-Z]{58}"),
  {
    what: "a JSON Web Token",
    starts: [...starts("eyJ"), "ewog"],
    pattern: new RegExp(
      String.raw`${ALONE}(?:eyJ|ewog)[\w-]{12,}\.[\w-]{8,}\.[\w-]{40,}(?![\w-])`,
      "y",
    ),
    check: isValidToken,
  },
  {
    what: "a private key",
    starts: ["-----BEGIN "],
    pattern: PRIVATE_KEY,
    check: (_, { text, end }) => hasKeyBehind(text, end),
  },
];

function form(what: string, starts: string | readonly string[], pattern: string): TokenForm {
  return {
    what,
    starts: typeof starts === "string" ? starts.split(" ") : starts,
    pattern: new RegExp(pattern, "y"),
    check: (match) => !isPlaceholder(match),
  };
}

/** A beginning that is too short for a search, with each character that may follow. */
function starts(short: string): readonly string[] {
  return BASE64URL.map((next) => `${short}${next}`);
}

const BY_START: ReadonlyMap<string, TokenForm> = new Map(
  FORMS.flatMap((form) => form.starts.map((start) => [start, form] as const)),
);
/** Made for the first search: most commands of svc search for nothing. */
let pattern: SecretPattern | undefined;

/** Fewest different characters at the end of a token; fewer have only made-up ones. */
const MIN_DIFFERENT = 8;
const END = 24;

/** Whether a text only stands for a token. */
function isPlaceholder(text: string): boolean {
  return new Set(text.slice(-END)).size < MIN_DIFFERENT ||
    /example|placeholder|abcdefgh|12345678|x{6}|\*{4}|your[-_]/i.test(text);
}

/** Whether three parts are a signed token that counts now, or that says nothing of its end. */
function isValidToken(match: string, { now }: Place): boolean {
  const [header = "", payload = ""] = match.split(".");
  const claims = decoded(payload);
  if (typeof decoded(header)?.["alg"] !== "string" || claims === undefined) return false;
  const { exp, sub } = claims;
  if (sub === "1234567890") return false; // the example of jwt.io
  return typeof exp !== "number" || exp * 1000 > now;
}

function decoded(part: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const bytes = Uint8Array.fromBase64(part, {
      alphabet: "base64url",
      lastChunkHandling: "loose",
    });
    const value: unknown = JSON.parse(findText(bytes) ?? "");
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Number of characters behind its first line within which a private key shows itself. */
const KEY_WITHIN = 500;
/** Length of a run of base64 that only a key has. */
const KEY_RUN = 40;

/** Whether base64 follows the first line of a key, and not the words of a program that reads keys. */
function hasKeyBehind(text: string, from: number): boolean {
  let run = 0;
  for (let at = from; at < Math.min(text.length, from + KEY_WITHIN); at++) {
    const code = text.charCodeAt(at);
    const isBase64 = (code >= 65 && code <= 90) || (code >= 97 && code <= 122) ||
      (code >= 47 && code <= 57) || code === 43;
    run = isBase64 ? run + 1 : 0;
    if (run === KEY_RUN && !isPlaceholder(text.slice(at + 1 - KEY_RUN, at + 1))) return true;
    if (run === KEY_RUN) run = 0;
  }
  return false;
}

/** Number of bytes that are a text at once. */
const WINDOW = 256 * 1024;
/** Number of bytes before and behind the beginning of a token that its pattern sees. */
const BEFORE = 64;
const BEHIND = 8 * 1024;

/**
 * The tokens in `bytes` at the time `now`, in milliseconds since the epoch; `undefined` between two
 * parts of the bytes, so that the caller can let other work go on.
 */
export function* findToken(
  bytes: Uint8Array,
  now: number,
): Generator<FoundToken | undefined, void> {
  pattern ??= new SecretPattern(BY_START.keys());
  let [text, start, end] = ["", 0, 0];
  let seen = 0; // what was looked at is not looked at again, so that the time grows with the length only
  for (const span of pattern.spansIn(bytes)) {
    if (span === undefined) {
      yield undefined;
      continue;
    }
    const { from, to } = span;
    if (from < seen) continue;
    if (text === "" || (from + BEHIND > end && end < bytes.length)) {
      start = Math.max(0, from - BEFORE);
      end = Math.min(bytes.length, start + WINDOW);
      text = latin1Text(bytes.subarray(start, end));
    }
    const form = BY_START.get(text.slice(from - start, to - start));
    const match = form === undefined ? undefined : matchOf(form, text, from - start);
    if (form === undefined || match === undefined) continue;
    seen = from + match.length;
    if (form.check(match, { text, end: seen - start, now })) yield { what: form.what, at: from };
  }
}

function matchOf({ pattern }: TokenForm, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}
