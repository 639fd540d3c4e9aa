/**
 * `svc delivery show`.
 *
 * @module
 */

import type { ShownDelivery } from "../../api/delivery_operations.ts";
import { findBase64, utf8 } from "../../base/bytes.ts";
import { AppError } from "../../base/errors.ts";
import { type Command, CONNECTION, defineCommand, DELIVERY, OUTPUT_TEXT_JSON } from "../command.ts";
import { curlLine, inlineData } from "../curl_line.ts";
import type { Io } from "../io.ts";
import { jsonText } from "../json_text.ts";
import { printable } from "../terminal_text.ts";

export const command: Command = defineCommand({
  help: "Shows the stored headers of a delivery, signatures and tokens masked, and its body. " +
    "Those of a rejected delivery are stored only if the trigger has recordRejected: true. " +
    "Needs the role operator; a step may read the delivery that started its task.",
  arguments: [DELIVERY],
  options: [
    { flags: "--headers", help: "only the headers" },
    { flags: "--body", help: "only the body, exactly as it arrived" },
    { flags: "--curl", help: "a command line that sends it again, signature and tokens masked" },
    ...CONNECTION,
    OUTPUT_TEXT_JSON,
  ],
  examples: [
    "svc delivery show latest",
    "svc delivery show latest --body | svc tool payload-extract --path repository.full_name",
    "svc delivery show latest --curl",
  ],
  async run(context) {
    const { io } = context;
    const parts = (["headers", "body", "curl"] as const).filter((name) => context.options[name]);
    const [part, second] = parts;
    const json = context.options.output === "json";
    if (second !== undefined) {
      throw new AppError("usage", `Give --${part} or --${second}, not both`);
    }
    if (json && part !== undefined) {
      throw new AppError("usage", `-o json prints everything, leave out --${part}`);
    }
    using client = context.client();
    const shown = await client.call("delivery.show", { id: context.argument(0), whole: true });
    if (json) return io.out(jsonText(shown));
    if (part === "curl") return io.out(toCurl(shown));
    if (part === "headers") return io.out(headerLines(shown));
    if (part === "body") return io.out(bytesOf(shown));
    io.out(`${summaryOf(shown)}\n${headerLines(shown)}\n`);
    printBody(shown, io);
  },
});

function summaryOf({ delivery, method, url }: ShownDelivery): string {
  const reason = delivery["reason"] === "" ? "" : `, ${delivery["reason"]}`;
  const from = delivery["remote"] === "" ? "" : ` from ${delivery["remote"]}`;
  const lines = [
    `delivery/${delivery["id"]} to trigger ${delivery["trigger"]}: ${delivery["outcome"]}${reason}`,
    `received ${delivery["received_at"]}${from}, ${delivery["body_bytes"]} bytes`,
    ...(url === null ? [] : [`${method} ${url}`]),
  ];
  return lines.map((line) => `${printable(line)}\n`).join("");
}

function headerLines({ headers }: ShownDelivery): string {
  return Object.entries(headers).map(([name, value]) => `${name}: ${printable(value)}\n`).join("");
}

/** Prints the body for people to read; `--body` prints its exact bytes instead. */
function printBody({ delivery, body, body_encoding: encoding }: ShownDelivery, io: Io): void {
  if (encoding === "base64") {
    const how = `svc delivery show ${delivery["id"]} --body >FILE`;
    return io.out(`(${delivery["body_bytes"]} bytes that are not text: ${how})\n`);
  }
  const text = io.outIsTerminal ? indented(body) : body;
  io.out(text === "" || text.endsWith("\n") ? text : `${text}\n`);
}

/** JSON over several lines, as long as that changes none of its values; anything else as it is. */
function indented(body: string): string {
  try {
    const value: unknown = JSON.parse(body);
    const compact = (text: string) => text.replace(/\s+/g, "");
    const text = JSON.stringify(value, null, 2);
    return compact(text) === compact(body) ? text : body;
  } catch {
    return body;
  }
}

function bytesOf({ body, body_encoding: encoding }: ShownDelivery): Uint8Array {
  return encoding === "text" ? utf8(body) : findBase64(body) ?? new Uint8Array();
}

/** The words for `curl` that set the method of a request without a body. */
function methodWords(method: string): string[] {
  return method === "HEAD" ? ["--head"] : ["--request", method];
}

/** Headers of the connection rather than the request, which `curl` sets itself. */
const OF_CONNECTION =
  /^(host|content-length|connection|keep-alive|transfer-encoding|te|trailer|upgrade|expect|proxy-connection)$/;

function toCurl(shown: ShownDelivery): string {
  const { delivery, url } = shown;
  if (url === null) {
    const instead = `send it again with "svc delivery redeliver ${delivery["id"]}"`;
    throw new AppError(
      "refused",
      `It was not a request, or the daemon receives no webhooks: ${instead}`,
    );
  }
  const headers = Object.fromEntries(
    Object.entries(shown.headers).filter(([name]) => !OF_CONNECTION.test(name)),
  );
  if (shown.method !== "POST") return curlLine(url, headers, methodWords(shown.method));
  const data = inlineData(bytesOf(shown));
  if (data !== undefined) return curlLine(url, headers, data);
  const piped = curlLine(url, headers, ["--data-binary", "@-"]);
  return `svc delivery show ${delivery["id"]} --body | ${piped}`;
}
