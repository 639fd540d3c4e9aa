/**
 * `svc tool sign`: a signed request of any platform, to try a trigger with.
 *
 * @module
 */

import { findText } from "../../base/bytes.ts";
import { LAST_TIME_MS, systemClock } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { type SigningKey, signsUrl } from "../../signatures/scheme.ts";
import { type Command, type CommandContext, OUTPUT_TEXT_JSON } from "../command.ts";
import { curlLine, inlineData } from "../curl_line.ts";
import {
  BODY_FLAGS,
  type GivenBody,
  readBody,
  readKeys,
  readScheme,
  SCHEME_FLAGS,
  SECRET_FLAGS,
  SECRET_REF_FLAGS,
} from "../signing_flags.ts";

const FORM_TYPE = "application/x-www-form-urlencoded";

/** Signs a request. */
export const command: Command = {
  help: "Signs a body as a platform does and prints the curl line that sends it. Where a scheme " +
    "sends the secret itself (bearer, basic, gitlab), the line shows it. Needs no daemon, except " +
    "for --secret-ref.",
  options: [
    ...SECRET_FLAGS,
    ...SECRET_REF_FLAGS,
    ...BODY_FLAGS,
    ...SCHEME_FLAGS,
    { flags: "--timestamp <seconds>", help: "time of signing (default: now)" },
    { flags: "--id <text>", help: "id of the message, where one is signed (default: random)" },
    { flags: "--content-type <type>", help: "type of the body (default: JSON, or form if it is)" },
    OUTPUT_TEXT_JSON,
  ],
  examples: [
    "svc tool sign --scheme slack --secret-env SLACK_SIGNING_SECRET --body-file event.json --url http://127.0.0.1:19090/webhook/slack-events",
    "svc tool sign --scheme github --secret-ref github --body '{}' -o json",
  ],
  async run(context: CommandContext) {
    const { scheme, options } = readScheme(context);
    if (scheme.sign === undefined) {
      throw new AppError("refused", `Cannot sign: ${scheme.cannotSign}`);
    }
    const json = context.option("output") === "json";
    const given = context.option("url");
    if (given === undefined && (!json || signsUrl(scheme, options))) {
      throw new AppError("usage", "Give the endpoint: --url http://HOST/webhook/TRIGGER");
    }
    if (given !== undefined && !/^https?:\/\/[^\s/]+\S*$/i.test(given)) {
      throw new AppError("usage", "--url takes an http or https URL");
    }
    const key = onlyKey(await readKeys(context));
    const body = await readBody(context);
    const type = context.option("contentType") ?? typeOf(body);
    const url = scheme.sentUrl !== undefined && type !== FORM_TYPE
      ? scheme.sentUrl(given ?? "", body.bytes)
      : given ?? "";
    const secs = context.count("timestamp", 0, Math.floor(LAST_TIME_MS / 1000));
    const now = secs === undefined ? systemClock.now() : secs * 1000;
    const id = context.option("id") ?? `msg_${crypto.randomUUID().replaceAll("-", "")}`;
    const signed = await scheme.sign({ body: body.bytes, now, url, id }, key, options);
    const headers = { "Content-Type": type, ...signed };
    checkHeaders(headers);
    context.io.out(
      json
        ? `${JSON.stringify({ ...(url === "" ? {} : { url }), headers }, null, 2)}\n`
        : curlLine(url, headers, dataWords(body)),
    );
  },
};

function onlyKey(keys: readonly SigningKey[]): SigningKey {
  const [key, ...others] = keys;
  if (key !== undefined && others.length === 0) return key;
  const names = keys.map(({ name }) => name).join(", ");
  throw new AppError("usage", `The SecretStore has several keys, name one with --key: ${names}`);
}

function typeOf({ bytes }: GivenBody): string {
  return /^[A-Za-z0-9._%+-]+=/.test(findText(bytes) ?? "") ? FORM_TYPE : "application/json";
}

function checkHeaders(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    if (/^[\x20-\x7e]*$/.test(value)) continue;
    throw new AppError("invalid", `The value of ${name} has characters that no header can hold`);
  }
}

function dataWords({ bytes, file }: GivenBody): readonly string[] {
  if (file !== undefined) return ["--data-binary", `@${file}`];
  const words = inlineData(bytes);
  if (words !== undefined) return words;
  throw new AppError("invalid", "The body does not fit into a command line, use --body-file");
}
