/**
 * Addresses in settings, and the certificates of the servers that listen there.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import type { TlsFiles } from "../http/server/tls_files.ts";

/** An address to listen on; port 0 takes any free one. */
export interface HostAndPort {
  readonly hostname: string;
  readonly port: number;
}

/** The address that `HOST:PORT` names; `undefined` for anything else. */
export function parseBind(text: string): HostAndPort | undefined {
  const [, ipv6, name, port] =
    /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+)):([0-9]{1,5})$/.exec(text) ?? [];
  const hostname = ipv6 ?? name;
  if (hostname === undefined || Number(port) > 65_535) return undefined;
  return { hostname, port: Number(port) };
}

/** The base URL of a server that was to listen there, and has this port. */
export function urlOf(scheme: string, { hostname }: HostAndPort, port: number): string {
  return `${scheme}://${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
}

/**
 * Certificate and key of a server, of the options `FLAG-cert` and `FLAG-key`.
 *
 * @throws {AppError} `usage` for one without the other, which is a mistake.
 */
export function tlsFiles(
  flag: string,
  certFile: string | undefined,
  keyFile: string | undefined,
): TlsFiles | undefined {
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile !== undefined && keyFile !== undefined) return { certFile, keyFile };
  throw new AppError("usage", `${flag}-cert and ${flag}-key go together`);
}

/**
 * The base URL of an API without a slash at its end; `undefined` for any other text. Tokens are sent
 * there: plain HTTP only to this machine itself.
 */
export function parseApiUrl(text: string): string | undefined {
  const url = URL.parse(text);
  const local = ["127.0.0.1", "[::1]", "localhost"].includes(url?.hostname ?? "");
  const safe = url?.protocol === "https:" || (url?.protocol === "http:" && local);
  if (url === null || !safe || url.search !== "" || url.hash !== "" || url.username !== "") {
    return undefined;
  }
  return text.replace(/\/+$/, "");
}
