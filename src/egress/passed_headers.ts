/**
 * The headers that are passed on, in both directions. Pure.
 *
 * @module
 */

import type { Injection } from "../resources/network.ts";
import { type AnswerHead, type Framing, type Header, type RequestHead, tokensOf } from "./head.ts";
import type { InjectedHeaders } from "./inside.ts";
import { type Destination, written } from "./route.ts";

/** Headers that belong to one connection, and are never passed on. */
const HOP_BY_HOP = new Set([
  "connection",
  "http2-settings",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Headers of requests that svc writes itself, or has answered. */
const OWN = new Set(["host", "content-length", "expect"]);

/**
 * Headers of requests that an API with a key never gets from the step: other credentials than the one
 * that is added (its placeholder among them), and what lets a server read another path or method than
 * the one that was checked.
 */
const NOT_INJECTED = new Set([
  "accept-encoding", // see below
  "api-key",
  "authorization",
  "cookie",
  "x-api-key",
  "x-goog-api-key",
  "x-http-method",
  "x-http-method-override",
  "x-method-override",
  "x-original-url",
  "x-rewrite-url",
]);

/** The headers of a request to a plain HTTP server. */
export function serverHeaders(
  head: RequestHead,
  destination: Destination,
  framing: Framing,
): Header[] {
  const { host, port } = destination;
  const name = port === 80 ? written(destination).replace(/:80$/, "") : written({ host, port });
  return [{ name: "Host", value: name }, ...passed(head, OWN), ...ofBody(head, framing)];
}

/** The headers of a request to an API, with its key. */
export function injectionHeaders(
  head: RequestHead,
  { origin }: Injection,
  { injected, framing }: { readonly injected: InjectedHeaders; readonly framing: Framing },
): Header[] {
  const kept = passed(head, OWN).filter(({ name }) => {
    const lower = name.toLowerCase();
    return !NOT_INJECTED.has(lower) && !Object.hasOwn(injected, lower);
  });
  return [
    { name: "Host", value: origin.replace(/^https?:\/\//, "") },
    ...kept,
    // Answers are counted as they pass, which is not possible if they are compressed.
    ...Object.hasOwn(injected, "accept-encoding")
      ? []
      : [{ name: "Accept-Encoding", value: "identity" }],
    ...Object.entries(injected).map(([name, value]) => ({ name, value })),
    ...ofBody(head, framing),
  ];
}

/** The headers of an answer, for the step. An API with a key hands out no cookies to it. */
export function answerHeaders(
  head: AnswerHead,
  { isInjected, keep, isChunked }: {
    readonly isInjected: boolean;
    readonly keep: boolean;
    readonly isChunked: boolean;
  },
): Header[] {
  const dropped = new Set(isInjected ? ["set-cookie", "set-cookie2"] : []);
  return [
    ...passed(head, dropped),
    ...isChunked ? [{ name: "Transfer-Encoding", value: "chunked" }] : [],
    { name: "Connection", value: keep ? "keep-alive" : "close" },
  ];
}

function passed(head: RequestHead | AnswerHead, dropped: ReadonlySet<string>): Header[] {
  const named = new Set(tokensOf(head, "connection"));
  return head.headers.filter(({ name }) => {
    const lower = name.toLowerCase();
    if (HOP_BY_HOP.has(lower) || lower.startsWith("proxy-") || dropped.has(lower)) return false;
    return !named.has(lower) || lower === "content-length";
  });
}

function ofBody({ method }: RequestHead, framing: Framing): Header[] {
  if (framing.by === "chunks") return [{ name: "Transfer-Encoding", value: "chunked" }];
  const length = framing.by === "length" ? framing.length : 0;
  const isBodied = length > 0 || !["GET", "HEAD", "DELETE", "OPTIONS"].includes(method);
  return isBodied ? [{ name: "Content-Length", value: String(length) }] : [];
}
