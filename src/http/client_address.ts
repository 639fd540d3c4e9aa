/**
 * Whose request it is, where proxies stand between us and the sender. What a header says is believed
 * only as far as somebody we trust has written it.
 *
 * ```ts
 * import { cidrMatcher } from "../base/cidr.ts";
 * import { clientAddress } from "./client_address.ts";
 * import { equal } from "node:assert/strict";
 *
 * const headers = new Headers({ "x-forwarded-for": "10.9.9.9, 192.0.2.7" });
 * equal(clientAddress("127.0.0.1", headers, cidrMatcher(["127.0.0.1"])), "192.0.2.7");
 * equal(clientAddress("198.51.100.1", headers, cidrMatcher(["127.0.0.1"])), "198.51.100.1");
 * ```
 *
 * @module
 */

import { isIPv4, isIPv6 } from "node:net";

/** Where a trusted proxy does not say who it speaks for; RFC 7239's word. In no CIDR range. */
export const UNKNOWN_CLIENT = "unknown";

/**
 * Address of the sender: that of the socket, unless a trusted proxy is there; then the last one in
 * `X-Forwarded-For` (or `Forwarded`) that is not a trusted proxy's. {@linkcode UNKNOWN_CLIENT} where
 * that cannot be read, or the two headers disagree: a proxy writes one of them and lets the other
 * through as the sender wrote it.
 */
export function clientAddress(
  peer: string,
  headers: Headers,
  isTrusted: (address: string) => boolean,
): string {
  const direct = plainAddress(peer) ?? peer;
  if (!isTrusted(direct)) return direct;
  const found = [
    headers.get("x-forwarded-for")?.split(",").map((hop) => hop.trim()),
    headers.get("forwarded")?.match(ELEMENT)?.map(forwardedFor),
  ].filter((hops) => hops !== undefined).map((hops) => lastUntrusted(hops, isTrusted));
  const [first, second = first] = found;
  if (first === undefined) return direct; // the proxy speaks for itself
  return first === second ? first : UNKNOWN_CLIENT;
}

/** From the end, which the nearest proxy wrote, to the first that nobody we trust vouches for. */
function lastUntrusted(
  hops: readonly string[],
  isTrusted: (address: string) => boolean,
): string {
  let address = UNKNOWN_CLIENT;
  for (const hop of hops.toReversed()) {
    address = plainAddress(hop) ?? UNKNOWN_CLIENT;
    if (!isTrusted(address)) return address;
  }
  return address;
}

/** One element of `Forwarded`; commas in quotes do not end it. */
const ELEMENT = /(?:"(?:[^"\\]|\\.)*"|[^,"])+/g;
const FOR = /(?:^|;)\s*for=(?:"([^"\\]*)"|([^\s;"]+))\s*(?:;|$)/i;

function forwardedFor(element: string): string {
  const [, quoted, token] = FOR.exec(element.trim()) ?? [];
  return quoted ?? token ?? "";
}

const WITH_PORT_IPV4 = /^([0-9.]+)(?::[0-9]{1,5})?$/;
const WITH_PORT_IPV6 = /^\[([0-9A-Fa-f:.]+)\](?::[0-9]{1,5})?$/;
const MAPPED = /^::ffff:([0-9.]+)$/i;

/**
 * The address alone, without port and brackets, IPv4 where a dual-stack socket shows it as IPv6;
 * `undefined` for anything else.
 */
export function plainAddress(text: string): string | undefined {
  const bare = WITH_PORT_IPV4.exec(text)?.[1] ?? WITH_PORT_IPV6.exec(text)?.[1] ?? text;
  const ipv4 = MAPPED.exec(bare)?.[1] ?? bare;
  if (isIPv4(ipv4)) return ipv4;
  return isIPv6(bare) ? bare.toLowerCase() : undefined;
}
