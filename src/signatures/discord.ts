/**
 * Scheme `discord`: an Ed25519 signature in hexadecimal over `<timestamp><body>`; the store holds the
 * application's public key in hexadecimal. Discord sends wrong signatures on purpose and takes an
 * endpoint down that lets one through.
 *
 * @module
 */

import { concatBytes, findHex, utf8 } from "../base/bytes.ts";
import { findSigner } from "./ed25519.ts";
import { covering, findSignature, refused, type Scheme } from "./scheme.ts";
import { findSeconds, refusedTime } from "./timestamp.ts";

const TIMESTAMP_HEADER = "x-signature-timestamp";

/** Whether a value has the form of a Discord public key. */
export function isDiscordPublicKey(value: string): boolean {
  return /^[0-9a-fA-F]{64}$/.test(value);
}

/** The scheme `discord`. */
export const discordScheme: Scheme = {
  name: "discord",
  defaultHeader: "X-Signature-Ed25519",
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
      readKey: (key) => isDiscordPublicKey(key) ? findHex(key) : undefined,
    });
    return covering(match, { content: request.body });
  },
  signedTime: {
    header: () => TIMESTAMP_HEADER,
    find: (request) => findSeconds(request.header(TIMESTAMP_HEADER) ?? ""),
  },
};
