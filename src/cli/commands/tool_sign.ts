/**
 * `svc tool sign`: a signed request of any platform, to try a trigger with.
 *
 * @module
 */

import { LAST_TIME_MS, systemClock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { platformOf } from "../../platforms/platforms.ts";
import { makeRequest, signerOf } from "../../platforms/sender.ts";
import { signsUrl } from "../../signatures/scheme.ts";
import { type Command, defineCommand, OUTPUT_TEXT_JSON } from "../command.ts";
import { count } from "../option.ts";
import { curlLine, inlineData } from "../curl_line.ts";
import { EVENT, LIKELIEST_KEY } from "../headers.ts";
import { jsonText } from "../json_text.ts";
import {
  BODY_FLAGS,
  type GivenBody,
  readBody,
  readScheme,
  readSigningKey,
  SCHEME_FLAGS,
  SECRET_FLAGS,
  secretRefFlags,
} from "../signing_flags.ts";

export const command: Command = defineCommand({
  help: "Signs a body as a platform does and prints the curl line that sends it. Where a " +
    "scheme sends the secret itself (bearer, basic, gitlab), the line shows it. Needs no " +
    "daemon, except for --secret-ref; svc trigger send signs and sends in one step.",
  options: [
    ...SECRET_FLAGS,
    ...secretRefFlags(LIKELIEST_KEY),
    ...BODY_FLAGS,
    ...SCHEME_FLAGS,
    {
      flags: "--timestamp <seconds>",
      value: count(0, Math.floor(LAST_TIME_MS / 1000)),
      help: "time of signing (default: now)",
    },
    { flags: "--id <text>", help: "id of the message, if the scheme signs one (default: random)" },
    EVENT,
    { flags: "--content-type <type>", help: "type of the body (default: JSON, or form if it is)" },
    OUTPUT_TEXT_JSON,
  ],
  examples: [
    "svc tool sign --scheme slack --secret-env SLACK_SIGNING_SECRET --body-file event.json --url http://127.0.0.1:19090/webhook/slack-events",
    "svc tool sign --scheme github --event push --secret-ref github --body-file push.json --url http://127.0.0.1:19090/webhook/github-push",
    "svc tool sign --scheme line --secret-ref line --body '{}' -o json",
  ],
  async run(context) {
    const { scheme, options } = readScheme(context);
    signerOf(scheme);
    const json = context.options.output === "json";
    const given = context.options.url;
    if (given === undefined && (!json || signsUrl(scheme, options))) {
      throw new AppError("usage", "Give the endpoint: --url http://HOST/webhook/TRIGGER");
    }
    if (given !== undefined && !/^https?:\/\/[^\s/]+\S*$/i.test(given)) {
      throw new AppError("usage", "--url takes an http or https URL");
    }
    const key = await readSigningKey(context);
    const body = await readBody(context);
    const platform = platformOf(context.options.scheme, context.options.signatureHeader);
    const secs = context.options.timestamp;
    const [contentType, event] = [context.options.contentType, context.options.event];
    const { url, headers } = await makeRequest({ scheme, options, platform }, {
      body: body.bytes,
      now: secs === undefined ? systemClock.now() : secs * 1000,
      url: given ?? "",
      id: context.options.id ?? `msg_${crypto.randomUUID().replaceAll("-", "")}`,
      ...defined({ contentType, event }),
    }, key);
    if (json) {
      const shown = { ...(url === "" ? {} : { url }), headers };
      return context.io.out(jsonText(shown));
    }
    context.io.out(curlLine(url, headers, dataWords(body)));
    if (platform?.sends?.event !== undefined && event === undefined) {
      const { title, sends } = platform;
      context.io.err(`${title} names its event in ${sends.event}: add --event NAME\n`);
    }
  },
});

function dataWords({ bytes, file }: GivenBody): readonly string[] {
  if (file !== undefined) return ["--data-binary", `@${file}`];
  const words = inlineData(bytes);
  if (words !== undefined) return words;
  throw new AppError("invalid", "The body does not fit into a command line, use --body-file");
}
