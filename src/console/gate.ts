/**
 * The gate of the console: what a request asks for, by its line and its headers alone, or why it is
 * refused. Pure. Other users of this machine and every site that a browser visits can reach the
 * port, so a name that leads to this machine proves nothing, and there are no cookies.
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

/** The page, file or call that a request asks for. */
export type Verdict =
  /** The name of a file of the page, which may not exist. */
  | { readonly asset: string }
  /** A key for a ticket. */
  | { readonly exchanges: "ticket" }
  /** The name of an operation of the daemon, which may not exist or be forbidden. */
  | { readonly operation: string };

/** Through a tunnel, this is the port at its other end. */
const PORT = /^:[0-9]{1,5}$/;
const ASSET = /^\/([A-Za-z0-9][A-Za-z0-9_-]*\.(?:js|css|svg))$/;
const OPERATION = /^\/v1\/([a-z]+(?:[._][a-z]+)*)$/;

/**
 * Judges a request to the console at `own`, its host without a port. A request to another host is
 * refused: a foreign site reaches this port only under a name of its own.
 *
 * @throws {AppError} `misdirected` before anything is looked at when it is for another host; then
 * `not_found`, `method_not_allowed`, `forbidden` or `unsupported_type`.
 */
export function judge({ method, url, headers }: RequestHead, own: string): Verdict {
  const host = headers.get("host") ?? "";
  const isOwn = host.startsWith(own) && PORT.test(host.slice(own.length));
  if (!isOwn || !url.startsWith(`http://${host}/`)) {
    throw new AppError("misdirected", "The console answers only at the address of its links");
  }
  const target = url.slice(`http://${host}`.length);
  if (method === "GET") return { asset: assetAt(target) };
  if (method !== "POST") throw new AppError("method_not_allowed", "Use GET or POST");
  checkOwnPage(headers, `http://${host}`);
  if (target === "/session") return { exchanges: "ticket" };
  const operation = OPERATION.exec(target)?.[1];
  if (operation === undefined) throw new AppError("not_found", "Nothing is at this path");
  return { operation };
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
