/**
 * Addresses of the internet protocol, read strictly: IPv4 as four decimal numbers, IPv6 without a zone.
 * Other ways to write an address (`0x7f.1`, `2130706433`, `010.0.0.1`) are none here, because programs
 * do not agree on their meaning. Pure.
 *
 * ```ts
 * import { canonicalIp, isPublicIp } from "./ip_address.ts";
 * import { strictEqual as equal } from "node:assert/strict";
 *
 * equal(canonicalIp("2001:DB8::1"), "2001:db8:0:0:0:0:0:1");
 * equal(canonicalIp("127.1"), undefined);
 * equal(isPublicIp("93.184.216.34"), true);
 * equal(isPublicIp("::ffff:127.0.0.1"), false);
 * ```
 *
 * @module
 */

/** IPv4 ranges that are no host of the internet (IANA's registry of special addresses). */
const SPECIAL_V4: readonly (readonly [start: string, bits: number])[] = [
  ["0.0.0.0", 8], // this host, this network
  ["10.0.0.0", 8],
  ["100.64.0.0", 10], // of carriers; also Tailscale and some clouds' metadata
  ["127.0.0.0", 8],
  ["168.63.129.16", 32], // metadata of Azure
  ["169.254.0.0", 16], // link-local; metadata of clouds
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4], // multicast
  ["240.0.0.0", 4], // reserved, broadcast
];

/** IPv6 ranges within `2000::/3` that are no host of the internet. Everything outside it is none either. */
const SPECIAL_V6: readonly (readonly [start: string, bits: number])[] = [
  ["2001::", 23], // protocols, Teredo among them
  ["2001:db8::", 32],
  ["3fff::", 20],
];

/** IPv6 ranges whose addresses carry an IPv4 address, and the byte at which it starts. */
const CARRIERS: readonly (readonly [start: string, bits: number, at: number])[] = [
  ["::ffff:0:0", 96, 12], // mapped
  ["64:ff9b::", 96, 12], // NAT64
  ["2002::", 16, 2], // 6to4
];

/** The bytes of an address, 4 or 16; `undefined` if the text is none. */
export function parseIp(text: string): Uint8Array | undefined {
  return text.includes(":") ? parseV6(text) : parseV4(text);
}

/** The one form in which an address is compared; `undefined` if the text is none. */
export function canonicalIp(text: string): string | undefined {
  const bytes = parseIp(text);
  if (bytes === undefined) return undefined;
  if (bytes.length === 4) return bytes.join(".");
  return Array.from({ length: 8 }, (_, i) => groupAt(bytes, i).toString(16)).join(":");
}

/** Whether an address is a host of the public internet; `false` for a text that is no address. */
export function isPublicIp(text: string): boolean {
  const bytes = parseIp(text);
  return bytes !== undefined && isPublic(bytes);
}

/** Whether an address is of this machine (loopback) or of a private network. */
export function isLocalIp(text: string): boolean {
  const bytes = parseIp(text);
  return bytes !== undefined && LOCAL.some(([start, bits]) => isWithin(bytes, start, bits));
}

const LOCAL: readonly (readonly [start: string, bits: number])[] = [
  ["127.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
  ["169.254.0.0", 16],
  ["::1", 128],
  ["fc00::", 7],
  ["fe80::", 10],
];

/** Whether no host can have an address: unspecified, multicast, broadcast. */
export function isNoHost(text: string): boolean {
  const bytes = parseIp(text);
  return bytes === undefined ||
    NO_HOST.some(([start, bits]) => isWithin(bytes, start, bits));
}

const NO_HOST: readonly (readonly [start: string, bits: number])[] = [
  ["0.0.0.0", 8],
  ["224.0.0.0", 4],
  ["255.255.255.255", 32],
  ["::", 128],
  ["ff00::", 8],
];

function isPublic(bytes: Uint8Array): boolean {
  if (bytes.length === 4) return !SPECIAL_V4.some(([start, bits]) => isWithin(bytes, start, bits));
  const carrier = CARRIERS.find(([start, bits]) => isWithin(bytes, start, bits));
  if (carrier !== undefined) return isPublic(bytes.subarray(carrier[2], carrier[2] + 4));
  return isWithin(bytes, "2000::", 3) &&
    !SPECIAL_V6.some(([start, bits]) => isWithin(bytes, start, bits));
}

function isWithin(bytes: Uint8Array, start: string, bits: number): boolean {
  const first = parseIp(start);
  if (first === undefined || first.length !== bytes.length) return false;
  for (let i = 0, left = bits; left > 0; i++, left -= 8) {
    const mask = left >= 8 ? 0xff : 0xff << (8 - left) & 0xff;
    if (((bytes[i] ?? 0) & mask) !== ((first[i] ?? 0) & mask)) return false;
  }
  return true;
}

function groupAt(bytes: Uint8Array, index: number): number {
  return (bytes[index * 2] ?? 0) << 8 | (bytes[index * 2 + 1] ?? 0);
}

function parseV4(text: string): Uint8Array | undefined {
  const parts = text.split(".");
  const isPlain = parts.length === 4 &&
    parts.every((part) => /^(0|[1-9][0-9]{0,2})$/.test(part) && Number(part) <= 255);
  return isPlain ? Uint8Array.from(parts, Number) : undefined;
}

function parseV6(text: string): Uint8Array | undefined {
  if (text.length > 45) return undefined;
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const [left, right] = halves.map((half, index) => bytesOf(half, index === halves.length - 1));
  if (left === undefined) return undefined;
  if (halves.length === 1) return left.length === 16 ? Uint8Array.from(left) : undefined;
  if (right === undefined || left.length + right.length > 14) return undefined;
  const zeros = new Array<number>(16 - left.length - right.length).fill(0);
  return Uint8Array.from([...left, ...zeros, ...right]);
}

/** The bytes of one side of `::`; only the end of an address may be written as IPv4. */
function bytesOf(half: string, isEnd: boolean): number[] | undefined {
  if (half === "") return [];
  const groups = half.split(":");
  const bytes: number[] = [];
  for (const [index, group] of groups.entries()) {
    const v4 = isEnd && index === groups.length - 1 ? parseV4(group) : undefined;
    if (v4 !== undefined) bytes.push(...v4);
    else if (/^[0-9a-f]{1,4}$/i.test(group)) {
      const value = Number.parseInt(group, 16);
      bytes.push(value >> 8, value & 0xff);
    } else return undefined;
  }
  return bytes;
}
