/**
 * Scheme `hmac`: configured by the user. The only scheme of no platform that can use SHA-1.
 *
 * @module
 */

import { defined } from "../base/defined.ts";
import {
  type HmacOptions,
  type HmacSpec,
  namedScheme,
  type Scheme,
  type SchemeOptions,
} from "./scheme.ts";
import { configuredHmac } from "./templated_hmac.ts";
import { findTime } from "./timestamp.ts";

/**
 * Whether options protect the request: a body or a time that is not signed can be changed by
 * a reader of the request. Apply checks this too.
 */
function isSound(options: HmacOptions): boolean {
  const { template = "{body}", timestampHeader, timestampPrefix, separator } = options;
  const times = [timestampHeader, timestampPrefix].filter((one) => one !== undefined).length;
  return template.includes("{body}") && times <= 1 && separator !== "" &&
    (timestampPrefix === undefined || (timestampPrefix !== "" && separator !== undefined)) &&
    template.includes("{timestamp}") === (times === 1);
}

function spec({ hmac }: SchemeOptions): HmacSpec | undefined {
  if (hmac === undefined || !isSound(hmac)) return undefined;
  const { algorithm, encoding = "hex", prefix = "", template = "{body}" } = hmac;
  const { separator, timestampHeader, timestampPrefix, keyEncoding } = hmac;
  return {
    form: { hash: algorithm, encoding, prefix, ...defined({ separator }) },
    template,
    ...defined({
      timestampHeader: timestampHeader?.toLowerCase(),
      timestampPrefix,
      keyForm: keyEncoding,
    }),
    findTime,
  };
}

/** The scheme `hmac`, whose form the trigger describes. */
export const genericHmacScheme: Scheme = namedScheme(
  { name: "hmac", defaultHeader: "X-Webhook-Signature" },
  configuredHmac(spec),
);
