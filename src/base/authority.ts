/**
 * `HOST:PORT` of URLs and requests, read strictly. Pure.
 *
 * ```ts
 * import { parseAuthority } from "./authority.ts";
 * import { deepStrictEqual as deepEqual } from "node:assert/strict";
 *
 * deepEqual(parseAuthority("GitHub.com:443"), { host: "github.com", isAddress: false, port: 443 });
 * deepEqual(parseAuthority("0x7f.1:443"), undefined);
 * ```
 *
 * @module
 */

import { canonicalIp } from "./ip_address.ts";

/** A host of a URL or a request. */
export interface Host {
  /** In lower case without a dot at its end; of an address {@linkcode canonicalIp}. */
  readonly host: string;
  readonly isAddress: boolean;
}

/**
 * A host as URLs and requests write it: a name, an IPv4 address, or an IPv6 address in brackets.
 * `undefined` for anything else, numbers that some programs take for an address among them.
 */
export function parseHost(text: string): Host | undefined {
  if (text.startsWith("[")) {
    const inside = text.endsWith("]") && text.includes(":") ? text.slice(1, -1) : "";
    const host = canonicalIp(inside);
    return host === undefined ? undefined : { host, isAddress: true };
  }
  const host = (text.endsWith(".") ? text.slice(0, -1) : text).toLowerCase();
  if (host.length > 253 || !HOST_NAME.test(host)) return undefined;
  if (!ENDS_IN_NUMBER.test(host)) return { host, isAddress: false };
  const address = canonicalIp(host);
  return address === undefined ? undefined : { host: address, isAddress: true };
}

const HOST_NAME =
  /^([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;
/** A host that programs may read as an IPv4 address, by the rule of URLs. */
export const ENDS_IN_NUMBER = /(^|\.)([0-9]+|0x[0-9a-f]*)$/;

/** A port as digits; `undefined` for anything else. */
export function parsePort(text: string): number | undefined {
  if (!/^[1-9][0-9]{0,4}$/.test(text)) return undefined;
  const port = Number(text);
  return port <= 65535 ? port : undefined;
}

/** `HOST:PORT`, or `HOST` if `fallback` is the port of one without; `undefined` for anything else. */
export function parseAuthority(
  text: string,
  fallback?: number,
): (Host & { readonly port: number }) | undefined {
  const [, written = "", digits] = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/s.exec(text) ?? [];
  const host = parseHost(written);
  const port = digits === undefined ? fallback : parsePort(digits);
  return host === undefined || port === undefined ? undefined : { ...host, port };
}
