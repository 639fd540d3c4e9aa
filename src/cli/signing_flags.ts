/**
 * Shared by the commands about signatures: the flags that name the secret, the body, and the scheme
 * with its settings.
 *
 * @module
 */

import { utf8 } from "../base/bytes.ts";
import { AppError } from "../base/errors.ts";
import type { HmacOptions, Scheme, SchemeOptions, SigningKey } from "../signatures/scheme.ts";
import { findScheme, SCHEMES } from "../platforms/schemes.ts";
import { likeliestKey } from "../platforms/sender.ts";
import { readFile, withoutLastLineBreak } from "./read_file.ts";
import { CONNECTION, type Context, PROJECT } from "./command.ts";
import type { Io } from "./io.ts";
import { type OptionDefinition, type OptionWith } from "./option.ts";

/** Flags of {@linkcode readKeys} that need no daemon. */
export const SECRET_FLAGS = [
  { flags: "--secret <text>", help: "the secret; visible to other users, prefer the next three" },
  { flags: "--secret-env <name>", help: "environment variable that holds the secret" },
  {
    flags: "--secret-file <file>",
    help: "file that holds the secret, its last line break left out; - for standard input",
  },
] as const satisfies readonly OptionDefinition[];

type SecretRefFlags = readonly [
  OptionWith<"--secret-ref <store>">,
  OptionWith<"--key <name>">,
  typeof PROJECT,
  ...typeof CONNECTION,
];

/** Flags of {@linkcode readKeys} that ask the daemon; `key` says which key is the default. */
export const secretRefFlags = (key: string): SecretRefFlags => [
  {
    flags: "--secret-ref <store>",
    help: "SecretStore that holds the secret",
    complete: "secretstore",
  },
  { flags: "--key <name>", help: `its key (default: ${key})`, complete: "key" },
  PROJECT,
  ...CONNECTION,
];

type SecretContext = Context<[...typeof SECRET_FLAGS, ...SecretRefFlags]>;

/** Flags of {@linkcode readBody}. */
export const BODY_FLAGS = [
  { flags: "--body <text>", help: "the body; - for standard input" },
  { flags: "--body-env <name>", help: "environment variable that holds the body" },
  { flags: "--body-file <file>", help: "file that holds the exact body; - for standard input" },
] as const satisfies readonly OptionDefinition[];

/** Flags of {@linkcode readScheme}. */
export const SCHEME_FLAGS = [
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
] as const satisfies readonly OptionDefinition[];

/** Replay window where none is given, as that of a trigger. */
const DEFAULT_TOLERANCE_SECS = 300;

/**
 * The scheme and its settings; `toleranceSecs` is the replay window that was given, if any.
 *
 * @throws {AppError} `usage` when the flags do not go together.
 */
export function readScheme(
  context: Context<typeof SCHEME_FLAGS>,
  toleranceSecs?: number,
): { readonly scheme: Scheme; readonly options: SchemeOptions } {
  const header = context.options.signatureHeader;
  const name = context.options.scheme;
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
      toleranceSecs: toleranceSecs ?? scheme.defaultToleranceSecs ?? DEFAULT_TOLERANCE_SECS,
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

function readHmac(context: Context<typeof SCHEME_FLAGS>): HmacOptions | undefined {
  const given = HMAC_FLAGS.map((name) => [name, context.options[name]] as const)
    .filter(([, text]) => text !== undefined);
  // The parser has checked the choices.
  const options = Object.fromEntries(given) as Partial<HmacOptions>;
  return given.length === 0 ? undefined : { algorithm: "sha256", ...options };
}

/**
 * A key, and the last time that it is known to have matched, in milliseconds since the epoch; 0 if
 * there is none.
 */
type StoredKey = SigningKey & { readonly lastAt: number };

/**
 * The keys to try or to sign with: at least one, and no empty one.
 *
 * @throws {AppError} `usage`, `invalid`; with `--secret-ref` the refusals of the daemon.
 */
export async function readKeys(context: SecretContext): Promise<readonly StoredKey[]> {
  const { secret, secretEnv, secretFile, secretRef } = context.options;
  const [text, variable, file, store] = onlyOne(
    [secret, secretEnv, secretFile, secretRef],
    "secret",
  );
  if (store !== undefined) return await readStore(store, context);
  if (context.options.key !== undefined) {
    throw new AppError("usage", "--key names a key of the SecretStore given with --secret-ref");
  }
  const value = text ??
    (variable !== undefined
      ? fromEnv(variable, context.io)
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
export async function readSigningKey(context: SecretContext): Promise<SigningKey> {
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

async function readStore(name: string, context: SecretContext): Promise<readonly StoredKey[]> {
  using client = context.client();
  const input = { what: "secretstore", name, ...context.project(), reveal: true };
  const { spec, status } = await client.call("describe", input) as RevealedStore;
  const data = Object.entries(spec?.data ?? {}).map(([key, value]) => ({
    name: key,
    value: String(value),
    lastAt: Date.parse(status?.keys?.[key]?.last_matched_at ?? "") || 0,
  }));
  const wanted = context.options.key;
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

/** The exact bytes of a body, and the path of its file if it was read from one. */
export interface GivenBody {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly file?: string;
}

/**
 * The body.
 *
 * @throws {AppError} `usage` or `invalid`.
 */
export async function readBody(
  context: Context<[...typeof BODY_FLAGS, ...typeof SECRET_FLAGS]>,
): Promise<GivenBody> {
  const { body, bodyEnv, bodyFile } = context.options;
  const [text, variable, file = ""] = onlyOne([body, bodyEnv, bodyFile], "body");
  if (variable !== undefined) return { bytes: utf8(fromEnv(variable, context.io)) };
  if (text !== undefined && text !== "-") return { bytes: utf8(text) };
  if (text === undefined && file !== "-") return { bytes: await readFile(file, context.io), file };
  if (context.options.secretFile === "-") {
    throw new AppError("usage", "Secret and body cannot both come from standard input");
  }
  return { bytes: await readFile("-", context.io) };
}

/** The values of options of which exactly one has to be given. */
function onlyOne(
  values: readonly (string | undefined)[],
  what: string,
): readonly (string | undefined)[] {
  const given = values.filter((value) => value !== undefined).length;
  if (given === 1) return values;
  throw new AppError(
    "usage",
    given === 0 ? `Give the ${what}: --${what}` : `Give the ${what} once`,
  );
}

function fromEnv(name: string, io: Io): string {
  const value = io.env(name);
  if (value === undefined) {
    throw new AppError("usage", `The environment variable ${name} is not set`);
  }
  return value;
}
