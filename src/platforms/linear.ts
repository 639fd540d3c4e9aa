/**
 * Linear: the hexadecimal HMAC-SHA256 of the body, in which `webhookTimestamp` is the time of
 * sending in milliseconds. The time is read after the signature is verified. `auto` does not accept
 * it: anybody could put `sha256=` before a recorded digest, and `auto` would check it as `sha256`,
 * without the time. `Linear-Delivery` is not signed, and `webhookId` in the body identifies the
 * webhook, not the event.
 *
 * @module
 */

import { findText } from "../base/bytes.ts";
import { refused, type Signature } from "../signatures/scheme.ts";
import { templatedHmac } from "../signatures/templated_hmac.ts";
import { refusedTime } from "../signatures/timestamp.ts";
import { headerId, type Platform } from "./platform.ts";

const overBody = templatedHmac({
  form: { hash: "sha256", encoding: "hex", prefix: "" },
  template: "{body}",
});

const signature: Signature = {
  ...overBody,
  async verify(request, keys, options) {
    const verdict = await overBody.verify(request, keys, options);
    if (!verdict.ok) return verdict;
    const window = { find: findMillis, now: request.now, toleranceSecs: options.toleranceSecs };
    const times = timesIn(request.body);
    const reasons = times.length === 0
      ? [refusedTime(undefined, window)]
      : times.map((time) => refusedTime(time, window));
    const reason = reasons.find((one) => one !== undefined);
    return reason === undefined ? verdict : refused(reason);
  },
  signedTime: {
    header: () => undefined,
    find: ({ body }) => findMillis(timesIn(body)[0] ?? ""),
  },
};

/** Finds keys only: inside a JSON text, a quote has a backslash before it. */
const TIME = /(?<!\\)"webhookTimestamp"\s*:\s*([^\s,}]*)/g;

/**
 * The times of sending in a body. An issue's data can have such a key too, with a value that its
 * authors choose, so all of them have to be within the window. Found by a pattern, because a scheme
 * may not parse JSON.
 */
function timesIn(body: Uint8Array): readonly string[] {
  return [...(findText(body) ?? "").matchAll(TIME)].map(([, time = ""]) => time);
}

function findMillis(text: string): number | undefined {
  return /^[0-9]{13}$/.test(text) ? Number(text) : undefined;
}

export const linear: Platform = {
  name: "linear",
  title: "Linear",
  headers: ["Linear-Signature"],
  signature,
  auto: false,
  sends: { event: "Linear-Event", id: "Linear-Delivery" },
  eventId: (event) => headerId("linear-delivery", event),
  docs: {
    signs: "body, including its time; name the scheme",
    eventId: "`Linear-Delivery` and the body",
  },
};
