/**
 * `svc tool webhook-verify-hmac` (spec 1.7, contract 6): runs in plugin scripts, so it loads little.
 *
 * @module
 */

import { utf8 } from "../base/bytes.ts";
import { AppError, messageOf } from "../base/errors.ts";
import { findScheme } from "../signatures/schemes.ts";
import { type Command, type CommandContext } from "./command.ts";

/** Checks a signature. */
export const command: Command = {
  help: "Checks the HMAC-SHA256 signature of a body: prints valid (exit 0) or invalid (exit 1). " +
    "Give one secret, one body and the signature, as sha256=HEX or bare hex. Needs no daemon.",
  options: [
    { flags: "--secret <text>", help: "the secret; visible to other users, prefer the next two" },
    { flags: "--secret-env <name>", help: "environment variable that holds the secret" },
    {
      flags: "--secret-file <file>",
      help: "file that holds the secret, its last line break left out",
    },
    { flags: "--body <text>", help: "the body; - for standard input" },
    { flags: "--body-env <name>", help: "environment variable that holds the body" },
    { flags: "--body-file <file>", help: "file that holds the exact body; - for standard input" },
    { flags: "--signature <value>", help: "the signature" },
  ],
  examples: [
    'svc tool webhook-verify-hmac --secret-env SECRET --body-file "$WEBHOOK_BODY_FILE" --signature "$WEBHOOK_HEADER_X_WEBHOOK_SIGNATURE"',
    "svc tool webhook-verify-hmac --secret s3cr3t --body '{}' --signature sha256=77325902caca812dc259733aacd046b73817372c777b8d95b402647474516e13",
  ],
  async run(context: CommandContext) {
    const signature = context.option("signature");
    if (signature === undefined) {
      throw new AppError("usage", "Give the signature: --signature VALUE");
    }
    const secret = await readSecret(context);
    if (secret === "") {
      throw new AppError("invalid", "The secret is empty: anyone could have made this signature");
    }
    const body = await readBody(context);
    const value = /^[0-9a-fA-F]{64}$/.test(signature) ? `sha256=${signature}` : signature;
    const verdict = await findScheme("sha256")?.verify(
      { body, header: () => value, now: 0 },
      [{ name: "secret", value: secret }],
      { signatureHeader: "" },
    );
    context.io.out(verdict?.ok === true ? "valid\n" : "invalid\n");
    return verdict?.ok === true ? 0 : 1;
  },
};

async function readSecret(context: CommandContext): Promise<string> {
  const [text, variable, file] = only(context, ["secret", "secretEnv", "secretFile"], "secret");
  if (text !== undefined) return text;
  if (variable !== undefined) return fromEnv(variable, context);
  return new TextDecoder().decode(await readFile(file ?? "", context)).replace(/\r?\n$/, "");
}

async function readBody(context: CommandContext): Promise<Uint8Array<ArrayBuffer>> {
  const [text, variable, file] = only(context, ["body", "bodyEnv", "bodyFile"], "body");
  if (text === "-") return await readFile("-", context);
  if (text !== undefined) return utf8(text);
  if (variable !== undefined) return utf8(fromEnv(variable, context));
  return await readFile(file ?? "", context);
}

/** The values of options of which exactly one has to be given. */
function only(context: CommandContext, names: readonly string[], what: string) {
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

async function readFile(path: string, context: CommandContext): Promise<Uint8Array<ArrayBuffer>> {
  if (path === "-") return new Uint8Array(await context.io.stdin());
  return await Deno.readFile(path).catch((cause) => {
    throw new AppError("invalid", `Cannot read "${path}": ${messageOf(cause)}`, { cause });
  });
}
