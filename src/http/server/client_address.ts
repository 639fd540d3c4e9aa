/**
 * The address of the client when there are proxies between it and the daemon. Of a header, only the
 * part counts that a trusted proxy has written.
 *
 * ```ts
 * import { cidrMatcher } from "../../base/cidr.ts";
 * import { clientAddress, plainAddress } from "./client_address.ts";
 * import { strictEqual as equal } from "node:assert/strict";
 *
 * const headers = new Headers({ "x-forwarded-for": "10.9.9.9, 192.0.2.7" });
 * equal(clientAddress("127.0.0.1", headers, cidrMatcher(["127.0.0.1"])), "192.0.2.7");
 * equal(clientAddress("198.51.100.1", headers, cidrMatcher(["127.0.0.1"])), "198.51.100.1");
 * equal(plainAddress("[::1]:80"), "::1");
 * ```
 *
 * @module
 */

import { isIPv4, isIPv6 } from "node:net";

/** The address where a trusted proxy does not name its client (RFC 7239's word); in no CIDR range. */
const UNKNOWN_CLIENT = "unknown";

/**
 * Address of the sender: that of the socket, unless a trusted proxy is there; then the last one in
 * `X-Forwarded-For` (or `Forwarded`) that is not a trusted proxy's. `unknown` where
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
  const forwarded = headers.get("forwarded");
  const addresses = [
    headers.get("x-forwarded-for")?.split(",").map((hop) => hop.trim()),
    forwarded === null ? undefined : (forwarded.match(ELEMENT) ?? [""]).map(forwardedFor),
  ].filter((hops) => hops !== undefined).map((hops) => lastUntrusted(hops, isTrusted));
  const [first, second = first] = addresses;
  if (first === undefined) return direct; // the request is the proxy's own
  return first === second ? first : UNKNOWN_CLIENT;
}

/** The last address that is not a trusted proxy's; the nearest proxy wrote the end of the list. */
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

const IPV4_AND_PORT = /^([0-9.]+)(?::[0-9]{1,5})?$/;
const IPV6_IN_BRACKETS = /^\[([0-9A-Fa-f:.]+)\](?::[0-9]{1,5})?$/;
const IPV4_IN_IPV6 = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/;

/**
 * The address alone, without port and brackets, each in its one usual spelling, and IPv4 where a
 * dual-stack socket shows it as IPv6; `undefined` for anything else.
 */
export function plainAddress(text: string): string | undefined {
  const ipv4 = IPV4_AND_PORT.exec(text)?.[1];
  if (ipv4 !== undefined && isIPv4(ipv4)) return ipv4;
  const ipv6 = IPV6_IN_BRACKETS.exec(text)?.[1] ?? text;
  if (!isIPv6(ipv6) || ipv6.includes("%")) return undefined;
  const usual = new URL(`http://[${ipv6}]`).hostname.slice(1, -1);
  const [, high, low] = IPV4_IN_IPV6.exec(usual) ?? [];
  if (high === undefined || low === undefined) return usual;
  return [high, low].map((half) => parseInt(half, 16)).flatMap((n) => [n >> 8, n & 255]).join(".");
}
