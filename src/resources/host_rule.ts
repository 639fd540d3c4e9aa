/**
 * One host that a sandbox may reach: an entry of `network.allow`.
 *
 * ```ts
 * import { parseHostRule } from "./host_rule.ts";
 * import { deepStrictEqual as deepEqual } from "node:assert/strict";
 *
 * deepEqual(parseHostRule("*.GitHub.com:443"), {
 *   host: "github.com",
 *   matches: "subdomains",
 *   ports: [443],
 * });
 * deepEqual(parseHostRule("127.0.0.1:8080"), {
 *   host: "127.0.0.1",
 *   matches: "address",
 *   ports: [8080],
 * });
 * ```
 *
 * @module
 */

import { ENDS_IN_NUMBER, parseAuthority, parsePort } from "../base/authority.ts";
import { isNoHost } from "../base/ip_address.ts";

/** One entry of `allow`, parsed. */
export interface HostRule {
  /** The host in lower case; of an address `canonicalIp`. */
  readonly host: string;
  /** What it stands for: that name alone, all names below it, or that address. */
  readonly matches: "name" | "subdomains" | "address";
  readonly ports: readonly number[];
}

/** The ports of an entry of `allow` that names none. */
const DEFAULT_PORTS = [443, 80];

/** One entry of `allow`; a text says what is wrong with it. */
export function parseHostRule(entry: string): HostRule | string {
  if (entry === "*") return 'To allow every host, write "network: all"';
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(entry)) {
    const host = URL.parse(entry)?.host ?? "";
    return `A host stands alone, without a scheme or a path${host === "" ? "" : `: ${host}`}`;
  }
  if (entry.includes("/")) return "A host stands alone, without a path or a range of addresses";
  if (entry.includes("@")) return "A host stands alone, without a user";
  const isBelow = entry.startsWith("*.");
  const rest = isBelow ? entry.slice(2) : entry;
  if (rest.includes("*")) {
    return 'A "*" stands only at the beginning, for all names below: *.github.com';
  }
  if (!rest.startsWith("[") && rest.split(":").length > 2) {
    return `An IPv6 address is written in brackets: [${rest}]`;
  }
  const found = parseAuthority(rest, 0);
  if (found === undefined) return explainHost(rest);
  const { host, isAddress, port } = found;
  const ports = port === 0 ? DEFAULT_PORTS : [port];
  if (!isAddress) {
    if (isLocalName(host)) return localName(host, port);
    return { host, matches: isBelow ? "subdomains" : "name", ports };
  }
  if (isBelow) return "Names have subdomains, addresses have none";
  if (isNoHost(host)) return "No host has this address";
  if (host.startsWith("0:0:0:0:0:ffff:")) return "Write the IPv4 address that this one stands for";
  return { host, matches: "address", ports };
}

/** What is wrong with `HOST` or `HOST:PORT`. */
export function explainHost(text: string): string {
  const [, digits] = /^(?:\[[^\]]*\]|[^:[]*):(.*)$/s.exec(text) ?? [];
  if (digits !== undefined && parsePort(digits) === undefined) {
    return "A port is a number from 1 to 65535";
  }
  const name = text.replace(/:[^:\]]*$/, "");
  // deno-lint-ignore no-control-regex -- all of ASCII
  if (!/^[\x00-\x7f]*$/.test(name)) {
    const ascii = URL.parse(`https://${name}`)?.hostname;
    return `A name is written in ASCII${ascii === undefined ? "" : `: ${ascii}`}`;
  }
  const dotted = ENDS_IN_NUMBER.test(name.toLowerCase())
    ? URL.parse(`http://${name}`)?.hostname
    : undefined;
  if (dotted !== undefined) return `An IPv4 address is written as four decimal numbers: ${dotted}`;
  return "This is no host: write a name (github.com, *.github.com) or an address, and :PORT if it " +
    "is neither 443 nor 80";
}

/** Names that resolve to this machine, wherever one asks. */
export function isLocalName(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost");
}

/** The message about such a name. */
export function localName(host: string, port: number): string {
  const written = port === 0 ? "127.0.0.1" : `127.0.0.1:${port}`;
  return `"${host}" is this machine, which is reached only by its address: ${written}`;
}
