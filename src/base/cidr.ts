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

/** A function that says whether an address is in one of `ranges`; invalid ranges are ignored. */
export function cidrMatcher(ranges: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const range of ranges) {
    const subnet = parts(range);
    if (subnet !== undefined) list.addSubnet(subnet.address, subnet.bits, subnet.family);
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

/** The IPv4 address in `::ffff:192.0.2.1`, as dual-stack sockets show it; any other text as it is. */
function withoutMapping(address: string): string {
  return /^::ffff:([0-9.]+)$/i.exec(address)?.[1] ?? address;
}
