/**
 * `svc tool webhook-verify-hmac`: runs in plugin scripts, so it loads little.
 *
 * @module
 */

import { MAX_DURATION_SECS } from "../../base/duration.ts";
import { systemClock } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { DIGEST_BYTES } from "../../signatures/digest_form.ts";
import { whyRefused } from "../../signatures/failures.ts";
import type { Scheme, SchemeOptions } from "../../signatures/scheme.ts";
import { type Command, type Context, defineCommand } from "../command.ts";
import { count, type OptionDefinition } from "../option.ts";
import {
  BODY_FLAGS,
  readBody,
  readKeys,
  readScheme,
  SCHEME_FLAGS,
  SECRET_FLAGS,
  secretRefFlags,
} from "../signing_flags.ts";

const OPTIONS = [
  ...SECRET_FLAGS,
  ...secretRefFlags("every one"),
  ...BODY_FLAGS,
  { flags: "--signature <value>", help: "value of the signature's header" },
  { flags: "--timestamp <value>", help: "value of the header with the time of signing" },
  { flags: "--header <name=value...>", help: "another header the scheme reads" },
  {
    flags: "--tolerance <seconds>",
    value: count(0, MAX_DURATION_SECS),
    help: "how far the signed time may be from now, in seconds (default: the scheme's, mostly 300)",
  },
  ...SCHEME_FLAGS,
] as const satisfies readonly OptionDefinition[];

export const command: Command = defineCommand({
  help: "Checks the signature of a body: prints valid (exit 0) or invalid (exit 1, the reason on " +
    "standard error). Give one secret, one body and the signature; hex may lack its prefix. " +
    "Inside a plugin, headers that are not given are the request's own ($WEBHOOK_HEADER_...). " +
    "Needs no daemon, except for --secret-ref.",
  options: OPTIONS,
  examples: [
    'svc tool webhook-verify-hmac --secret-env SECRET --body-file "$WEBHOOK_BODY_FILE" --signature "$WEBHOOK_HEADER_X_WEBHOOK_SIGNATURE"',
    "svc tool webhook-verify-hmac --secret s3cr3t --body '{}' --signature sha256=77325902caca812dc259733aacd046b73817372c777b8d95b402647474516e13",
    'svc tool webhook-verify-hmac --scheme slack --secret-ref slack --body-file "$WEBHOOK_BODY_FILE"',
  ],
  async run(context) {
    const { scheme, options } = readScheme(context, context.options.tolerance);
    const header = readHeaders(context, scheme, options);
    const keys = await readKeys(context);
    const { bytes } = await readBody(context);
    const url = context.options.url ?? "";
    const request = { body: bytes, header, now: systemClock.now(), url, arrivedUrl: url };
    const verdict = await scheme.verify(request, keys, options);
    if (!verdict.ok && verdict.reason === "signature_header_missing") {
      // An absent option is a mistake in the script; an empty one is a request without a signature.
      if (context.options.signature === undefined) {
        throw new AppError("usage", "Give the signature: --signature VALUE");
      }
    }
    context.io.out(verdict.ok ? "valid\n" : "invalid\n");
    if (!verdict.ok) {
      const store = context.options.secretRef;
      const from = store === undefined ? {} : { store };
      context.io.err(`${whyRefused(verdict, { scheme, options, request, ...from })}\n`);
    }
    return verdict.ok ? 0 : 1;
  },
});

/**
 * The headers that a scheme may ask for: those of the command line, else those of the plugin's
 * request.
 */
function readHeaders(
  context: Context<typeof OPTIONS>,
  scheme: Scheme,
  options: SchemeOptions,
): (name: string) => string | undefined {
  const given = new Map<string, string>();
  for (const text of context.options.header) {
    const [, name = "", value = ""] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
    if (name === "") throw new AppError("usage", `--header takes NAME=VALUE, not "${text}"`);
    given.set(name.toLowerCase(), value);
  }
  const timestamp = context.options.timestamp;
  const timestampHeader = scheme.signedTime?.header(options);
  if (timestamp !== undefined && timestampHeader === undefined) {
    throw new AppError("usage", `Scheme "${scheme.name}" has no header for --timestamp`);
  }
  if (timestamp !== undefined && timestampHeader !== undefined) {
    given.set(timestampHeader, timestamp);
  }
  const signature = context.options.signature;
  if (signature !== undefined) {
    given.set(options.signatureHeader, withPrefix(signature, scheme, options));
  }
  return (name) => given.get(name) ?? context.io.env(variableOf(name));
}

/** Adds the prefix of the scheme to a signature that is only hexadecimal. */
function withPrefix(signature: string, scheme: Scheme, options: SchemeOptions): string {
  const form = scheme.hmacSpec?.(options)?.form;
  const bare = form?.encoding === "hex" && /^[0-9a-fA-F]+$/.test(signature) &&
    signature.length === DIGEST_BYTES[form.hash] * 2;
  return bare ? `${form.prefix}${signature}` : signature;
}

/** The name of the variable that holds a header for a plugin. */
function variableOf(header: string): string {
  return `WEBHOOK_HEADER_${header.toUpperCase().replaceAll("-", "_")}`;
}
