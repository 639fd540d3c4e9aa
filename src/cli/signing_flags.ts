/**
 * What the commands about signatures have in common: where secret and body come from, and which
 * scheme is meant with which settings.
 *
 * @module
 */

import { utf8 } from "../base/bytes.ts";
import { MAX_DURATION_SECS } from "../base/duration.ts";
import { AppError } from "../base/errors.ts";
import type { HmacOptions, Scheme, SchemeOptions, SigningKey } from "../signatures/scheme.ts";
import { findScheme, SCHEMES } from "../platforms/schemes.ts";
import { likeliestKey } from "../platforms/sender.ts";
import { readFile, withoutLastLineBreak } from "./read_file.ts";
import { type CommandContext, CONNECTION, type OptionDefinition, PROJECT } from "./command.ts";

/** Flags of {@linkcode readKeys} that need no daemon. */
export const SECRET_FLAGS: readonly OptionDefinition[] = [
  { flags: "--secret <text>", help: "the secret; visible to other users, prefer the next three" },
  { flags: "--secret-env <name>", help: "environment variable that holds the secret" },
  {
    flags: "--secret-file <file>",
    help: "file that holds the secret, its last line break left out; - for standard input",
  },
];

/** Flags of {@linkcode readKeys} that ask the daemon; `key` says which key is the default. */
export function secretRefFlags(key: string): readonly OptionDefinition[] {
  return [
    {
      flags: "--secret-ref <store>",
      help: "SecretStore that holds the secret",
      complete: "secretstore",
    },
    { flags: "--key <name>", help: `its key (default: ${key})`, complete: "key" },
    PROJECT,
    ...CONNECTION,
  ];
}

/** The key that commands sign with where none is named. */
export const LIKELIEST_KEY = "the key that matched last, else the newest";

/** `--event` of commands that make up a request. */
export const EVENT: OptionDefinition = {
  flags: "--event <name>",
  help: "type of the event, where the platform names it in a header (X-GitHub-Event: push)",
};

/** Flags of {@linkcode readBody}. */
export const BODY_FLAGS: readonly OptionDefinition[] = [
  { flags: "--body <text>", help: "the body; - for standard input" },
  { flags: "--body-env <name>", help: "environment variable that holds the body" },
  { flags: "--body-file <file>", help: "file that holds the exact body; - for standard input" },
];

/** Flags of {@linkcode readScheme}. */
export const SCHEME_FLAGS: readonly OptionDefinition[] = [
  {
    flags: "--scheme <name>",
    help: "how it is signed",
    choices: ["auto", ...SCHEMES.map(({ name }) => name)],
    fallback: "sha256",
  },
  {
    flags: "--signature-header <name>",
    help: "header of the signature (default: the scheme's own)",
  },
  { flags: "--url <url>", help: "the endpoint as the sender knows it" },
  {
    flags: "--algorithm <name>",
    help: "for hmac: hash function (default: sha256)",
    choices: ["sha1", "sha256", "sha512"],
  },
  {
    flags: "--encoding <name>",
    help: "for hmac: how the digest is written (default: hex)",
    choices: ["hex", "base64", "base64url"],
  },
  { flags: "--prefix <text>", help: "for hmac: what precedes the digest" },
  { flags: "--separator <text>", help: "for hmac: what separates several parts of the header" },
  { flags: "--timestamp-header <name>", help: "for hmac: header of the time" },
  { flags: "--timestamp-prefix <text>", help: "for hmac: what precedes the time, as such a part" },
  {
    flags: "--template <text>",
    help: "for hmac: what is signed, with {timestamp}, {body}, {url}, {path}, {header:NAME} " +
      "(default: {body})",
  },
  {
    flags: "--key-encoding <name>",
    help: "for hmac: how the secret is written (default: text)",
    choices: ["text", "base64", "hex"],
  },
];

/** Replay window where none is given, as that of a trigger. */
const DEFAULT_TOLERANCE_SECS = 300;

/**
 * The scheme and its settings.
 *
 * @throws {AppError} `usage` when the flags do not go together.
 */
export function readScheme(
  context: CommandContext,
): { readonly scheme: Scheme; readonly options: SchemeOptions } {
  const header = context.option("signatureHeader");
  const name = context.option("scheme") ?? "sha256";
  const scheme = findScheme(name, header);
  if (scheme === undefined) {
    throw new AppError("usage", `Unknown scheme "${name}": see --help for the list`);
  }
  const hmac = readHmac(context);
  if (hmac !== undefined && name !== "hmac") {
    throw new AppError(
      "usage",
      "Flags that describe an HMAC go with --scheme hmac, the others are fixed",
    );
  }
  return {
    scheme,
    options: {
      signatureHeader: (header ?? scheme.defaultHeader).toLowerCase(),
      toleranceSecs: context.count("tolerance", 0, MAX_DURATION_SECS) ??
        scheme.defaultToleranceSecs ?? DEFAULT_TOLERANCE_SECS,
      ...(name === "hmac" ? { hmac: hmac ?? { algorithm: "sha256" } } : {}),
    },
  };
}

const HMAC_FLAGS = [
  "algorithm",
  "encoding",
  "prefix",
  "separator",
  "timestampHeader",
  "timestampPrefix",
  "template",
  "keyEncoding",
] as const;

function readHmac(context: CommandContext): HmacOptions | undefined {
  const given = HMAC_FLAGS.map((name) => [name, context.option(name)] as const)
    .filter(([, text]) => text !== undefined);
  // The parser has checked the choices.
  const options = Object.fromEntries(given) as Partial<HmacOptions>;
  return given.length === 0 ? undefined : { algorithm: "sha256", ...options };
}

/** A key, and when it last matched as far as is known: milliseconds since the epoch, else 0. */
type StoredKey = SigningKey & { readonly lastAt: number };

/**
 * The keys to try or to sign with; never empty, and none of them is.
 *
 * @throws {AppError} `usage`, `invalid`; with `--secret-ref` whatever the daemon refuses with.
 */
export async function readKeys(context: CommandContext): Promise<readonly StoredKey[]> {
  const names = ["secret", "secretEnv", "secretFile", "secretRef"];
  const [text, variable, file, store] = onlyOne(context, names, "secret");
  if (store !== undefined) return await readStore(store, context);
  if (context.option("key") !== undefined) {
    throw new AppError("usage", "--key names a key of the SecretStore given with --secret-ref");
  }
  const value = text ??
    (variable !== undefined
      ? fromEnv(variable, context)
      : withoutLastLineBreak(new TextDecoder().decode(await readFile(file ?? "", context.io))));
  if (value === "") {
    throw new AppError("invalid", "The secret is empty: anyone could have made this signature");
  }
  return [{ name: "secret", value, lastAt: 0 }];
}

/**
 * The key to sign with: of a SecretStore with several the key that matched last, else the newest.
 *
 * @throws {AppError} as {@linkcode readKeys}.
 */
export async function readSigningKey(context: CommandContext): Promise<SigningKey> {
  const key = likeliestKey(await readKeys(context));
  if (key === undefined) throw new Error("There is at least one key, else reading them refuses");
  return key;
}

/** A SecretStore as `describe` shows it. */
interface RevealedStore {
  readonly spec?: { readonly data?: Readonly<Record<string, unknown>> };
  readonly status?: {
    readonly keys?: Readonly<Record<string, { readonly last_matched_at?: string | null }>>;
  };
}

async function readStore(name: string, context: CommandContext): Promise<readonly StoredKey[]> {
  using client = context.client();
  const input = { what: "secretstore", name, ...context.project(), reveal: true };
  const { spec, status } = await client.call("describe", input) as RevealedStore;
  const data = Object.entries(spec?.data ?? {}).map(([key, value]) => ({
    name: key,
    value: String(value),
    lastAt: Date.parse(status?.keys?.[key]?.last_matched_at ?? "") || 0,
  }));
  const wanted = context.option("key");
  const keys = wanted === undefined ? data : data.filter((key) => key.name === wanted);
  if (keys.length === 0) {
    throw new AppError(
      "not_found",
      `SecretStore "${name}" has no key${wanted ? ` "${wanted}"` : ""}`,
    );
  }
  if (keys.some(({ value }) => value === "***")) {
    throw new AppError("forbidden", `You may not read the values of SecretStore "${name}"`);
  }
  return keys;
}

/** A body, and the file it is in if it is in one. */
export interface GivenBody {
  /** The exact bytes. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Path as given; absent where it came another way. */
  readonly file?: string;
}

/**
 * The body.
 *
 * @throws {AppError} `usage` or `invalid`.
 */
export async function readBody(context: CommandContext): Promise<GivenBody> {
  const names = ["body", "bodyEnv", "bodyFile"];
  const [text, variable, file = ""] = onlyOne(context, names, "body");
  if (variable !== undefined) return { bytes: utf8(fromEnv(variable, context)) };
  if (text !== undefined && text !== "-") return { bytes: utf8(text) };
  if (text === undefined && file !== "-") return { bytes: await readFile(file, context.io), file };
  if (context.option("secretFile") === "-") {
    throw new AppError("usage", "Secret and body cannot both come from standard input");
  }
  return { bytes: await readFile("-", context.io) };
}

/** The values of options of which exactly one has to be given. */
function onlyOne(context: CommandContext, names: readonly string[], what: string) {
  const values = names.map((name) => context.option(name));
  const given = values.filter((value) => value !== undefined).length;
  if (given === 1) return values;
  throw new AppError(
    "usage",
    given === 0 ? `Give the ${what}: --${what}` : `Give the ${what} once`,
  );
}

function fromEnv(name: string, context: CommandContext): string {
  const value = context.io.env(name);
  if (value === undefined) {
    throw new AppError("usage", `The environment variable ${name} is not set`);
  }
  return value;
}
