/**
 * Discord: an Ed25519 signature in hexadecimal over `<timestamp><body>`; the store holds the public
 * key. Discord also sends wrong signatures, and disables an endpoint that accepts one. Interactions
 * have an `id`; type 1 is a PING and expects a PONG of type 1. Webhook events have no id; type 0 is
 * the PING and expects an empty 204, type 1 is an event.
 *
 * @module
 */

import { concatBytes, findHex, utf8 } from "../base/bytes.ts";
import { findSigner } from "../signatures/ed25519.ts";
import { covering, findSignature, refused, type Signature } from "../signatures/scheme.ts";
import { findSeconds, refusedTime } from "../signatures/timestamp.ts";
import { nonEmptyText, payloadId, type Platform } from "./platform.ts";

const TIMESTAMP_HEADER = "x-signature-timestamp";

const signature: Signature = {
  covers: () => ({ payload: "all", headers: [TIMESTAMP_HEADER], query: false, method: false }),
  isPublicKey,
  takes: "the application's public key, 64 hexadecimal digits",
  cannotSign: "Discord signs with a private key that only Discord has",
  async verify(request, keys, options) {
    const value = findSignature(request, options);
    if (value === undefined) return refused("signature_header_missing");
    const signature = findHex(value);
    if (signature?.length !== 64) return refused("signature_malformed");
    const timestamp = request.header(TIMESTAMP_HEADER) ?? "";
    const window = { find: findSeconds, now: request.now, toleranceSecs: options.toleranceSecs };
    const reason = refusedTime(timestamp, window);
    if (reason !== undefined) return refused(reason);
    const match = await findSigner(keys, {
      data: concatBytes(utf8(timestamp), request.body),
      signatures: [signature],
      readKey: (key) => isPublicKey(key) ? findHex(key) : undefined,
    });
    return covering(match, { content: request.body });
  },
  signedTime: {
    header: () => TIMESTAMP_HEADER,
    find: (request) => findSeconds(request.header(TIMESTAMP_HEADER) ?? ""),
  },
};

/** Whether a value is a public key, in Discord's hexadecimal form. */
function isPublicKey(value: string): boolean {
  return /^[0-9a-fA-F]{64}$/.test(value);
}

/** An answer that Discord accepts as PONG; it ignores the second field. */
const DISCORD_PONG = '{"type":1,"status":"pong"}';

export const discord: Platform = {
  name: "discord",
  title: "Discord",
  headers: ["X-Signature-Ed25519"],
  signature,
  auto: true,
  handshake: (payload) => {
    const { type } = payload;
    if (payload["event"] !== undefined || nonEmptyText(payload["application_id"]) === undefined) {
      return undefined;
    }
    const isInteraction = nonEmptyText(payload["id"]) !== undefined &&
      nonEmptyText(payload["token"]) !== undefined;
    if (type === 1 && isInteraction) {
      return { status: 200, type: "application/json", body: DISCORD_PONG };
    }
    return type === 0 && !isInteraction ? { status: 204 } : undefined;
  },
  eventId: (event) => payloadId(event.payload["id"], event),
  docs: {
    signs: "time and body; the store holds the public key",
    eventId: "`id` of an interaction; none for webhook events",
  },
};
