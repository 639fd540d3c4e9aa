/**
 * Addresses and CIDR ranges, IPv4 and IPv6.
 *
 * ```ts
 * import { cidrMatcher, isCidr } from "./cidr.ts";
 * import { strictEqual as equal } from "node:assert/strict";
 *
 * equal(isCidr("192.0.2.0/24"), true);
 * equal(cidrMatcher(["192.0.2.0/24"])("192.0.2.7"), true);
 * equal(cidrMatcher(["192.0.2.0/24"])("198.51.100.1"), false);
 * ```
 *
 * @module
 */

import { BlockList, isIP } from "node:net";

/** Whether `text` is an address or a CIDR range. */
export function isCidr(text: string): boolean {
  return parts(text) !== undefined;
}

/** Tells whether an address is in one of `ranges`; ranges that are none are passed over. */
export function cidrMatcher(ranges: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const range of ranges) {
    const found = parts(range);
    if (found !== undefined) list.addSubnet(found.address, found.bits, found.family);
  }
  return (address) => {
    const plain = withoutMapping(address);
    const version = isIP(plain);
    return version !== 0 && list.check(plain, version === 6 ? "ipv6" : "ipv4");
  };
}

function parts(
  range: string,
): { address: string; bits: number; family: "ipv4" | "ipv6" } | undefined {
  const [address = "", bits, ...rest] = range.split("/");
  const version = isIP(address);
  const most = version === 6 ? 128 : 32;
  if (version === 0 || rest.length > 0 || address.includes("%")) return undefined;
  if (bits !== undefined && (!/^[0-9]{1,3}$/.test(bits) || Number(bits) > most)) return undefined;
  return {
    address,
    bits: bits === undefined ? most : Number(bits),
    family: version === 6 ? "ipv6" : "ipv4",
  };
}

/** An IPv4 address as a dual-stack socket shows it (`::ffff:192.0.2.1`). */
function withoutMapping(address: string): string {
  return /^::ffff:([0-9.]+)$/i.exec(address)?.[1] ?? address;
}
