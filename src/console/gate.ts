/**
 * The gate of the console: what a request asks for, by its line and its headers alone, or why it is
 * refused. Pure. Other users of this machine and every site that a browser visits can reach the
 * port, so a name that leads to this machine proves nothing, and no cookie lets a call through.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import { isPage } from "./pages.ts";

/** The line and the headers of a request. */
export interface RequestHead {
  readonly method: string;
  /** The path and the query are as they were sent, neither decoded nor normalised. */
  readonly url: string;
  readonly headers: Headers;
}

/** Where browsers find a console. */
export type Site =
  /** A console of one person: `host` without a port, which an ssh tunnel may change. */
  | { readonly host: string }
  /** A console with login: `https://HOST` or `https://HOST:PORT`, as browsers write it. */
  | { readonly origin: string };

/** A step of a login. */
export interface LoginStep {
  /** Name of the way to log in; absent where there is a choice to make. */
  readonly way?: string;
  /** Whether the provider sends the browser back. */
  readonly isCallback: boolean;
  /** The query without its question mark, as it was sent. */
  readonly query: string;
}

/** The page, file or call that a request asks for. */
export type Verdict =
  /** The name of a file of the page, which may not exist. */
  | { readonly asset: string }
  /** A step of a login, at a console that has one. */
  | { readonly login: LoginStep }
  /** A key for a ticket. */
  | { readonly exchanges: "ticket" }
  /** The name of an operation of the daemon, which may not exist or be forbidden. */
  | { readonly operation: string };

/** Through a tunnel, this is the port at its other end. */
const PORT = /^:[0-9]{1,5}$/;
const ASSET = /^\/([A-Za-z0-9][A-Za-z0-9_-]*\.(?:js|css|svg))$/;
const OPERATION = /^\/v1\/([a-z]+(?:[._][a-z]+)*)$/;
const LOGIN = /^\/login(?:\/([a-z0-9-]{1,32})(\/callback)?)?(?:\?([^#]*))?$/;

/**
 * Judges a request to the console at `site`. A request to another host is refused: a foreign site
 * reaches this port only under a name of its own.
 *
 * @throws {AppError} `misdirected` before anything is looked at when it is for another host; then
 * `not_found`, `method_not_allowed`, `forbidden` or `unsupported_type`.
 */
export function judge({ method, url, headers }: RequestHead, site: Site): Verdict {
  const host = headers.get("host") ?? "";
  const origin = originAt(host, site);
  // The URL is made of the line and the Host; its scheme is that of the connection, such as
  // `http+unix:`, behind a proxy not that of the browser.
  const [, place, target = ""] = /^[a-z+]+:\/\/([^/]*)(\/.*)$/s.exec(url) ?? [];
  if (origin === undefined || place !== host) {
    throw new AppError("misdirected", "The console answers only at the address of its links");
  }
  if (method === "GET") return fileOrLogin(target, site);
  if (method !== "POST") throw new AppError("method_not_allowed", "Use GET or POST");
  checkOwnPage(headers, origin);
  if (target === "/session") return { exchanges: "ticket" };
  const operation = OPERATION.exec(target)?.[1];
  if (operation === undefined) throw new AppError("not_found", "Nothing is at this path");
  return { operation };
}

/** The origin of pages under a Host; `undefined` for a Host that is not the console's own. */
function originAt(host: string, site: Site): string | undefined {
  if ("origin" in site) return `https://${host}` === site.origin ? site.origin : undefined;
  const isOwn = host.startsWith(site.host) && PORT.test(host.slice(site.host.length));
  return isOwn ? `http://${host}` : undefined;
}

function fileOrLogin(target: string, site: Site): Verdict {
  const found = "origin" in site ? LOGIN.exec(target) : null;
  if (found === null) return { asset: assetAt(target) };
  const [, way, callback, query = ""] = found;
  const step = { isCallback: callback !== undefined, query };
  return { login: way === undefined ? step : { ...step, way } };
}

/** Filters of a page are in its query; a file has none. */
function assetAt(target: string): string {
  const asset = ASSET.exec(target)?.[1];
  if (asset !== undefined) return asset;
  const [path = ""] = target.split("?", 1);
  if (isPage(path)) return "index.html";
  throw new AppError("not_found", "Nothing is at this path");
}

/** Refuses a request that the page itself would not have sent. */
function checkOwnPage(headers: Headers, origin: string): void {
  if (headers.get("origin") !== origin) {
    throw new AppError("forbidden", "The Origin is not that of the console");
  }
  if ((headers.get("sec-fetch-site") ?? "same-origin") !== "same-origin") {
    throw new AppError("forbidden", "Another site sent this");
  }
  if (headers.get("content-type") !== "application/json") {
    throw new AppError("unsupported_type", "The Content-Type is not application/json");
  }
}
