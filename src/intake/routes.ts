/**
 * The public HTTP server: its paths, matched raw and undecoded, and the checks that every request
 * passes. Rules of one path are in the file of its source.
 *
 * @module
 */

import type { AskedBy } from "../base/asked_by.ts";
import { defined } from "../base/defined.ts";
import { AppError } from "../base/errors.ts";
import { NAME_PATTERN } from "../resources/names.ts";
import { DEFAULT_PROJECT } from "../resources/resource.ts";
import { problemResponse } from "../http/problem.ts";
import { receiveHandshake } from "./handshake.ts";
import { receiveSlackEvent, type SlackHost } from "./slack.ts";
import { type IncomingRequest, receiveWebhook } from "./webhook.ts";

/** Whether the daemon can take requests; the answer of `GET /readyz`. */
export type Readiness = () => boolean;

const NAME = new RegExp(NAME_PATTERN);
/**
 * `host[:port]`, or an IPv6 address in brackets; other characters would end up in the path of the
 * URL.
 */
const HOST = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?$/;
/** Most bytes of all header names and values together. */
const MAX_HEADER_BYTES = 64 * 1024;

/** Answers a request of this address; `by` is who had svc sign it, if it does not come from outside. */
export type RequestHandler = (
  request: Request,
  remote: string,
  by?: AskedBy,
) => Response | Promise<Response>;

/** Answers requests of the public server. */
export function webhookHandler(
  host: SlackHost,
  ready: Readiness,
): RequestHandler {
  return (request, remote, by) =>
    answer(request, { remote, headers: readHeaders(request), ...defined({ by }) }, host, ready);
}

/** The headers, read once: reading is expensive, through an iterator four times as much. */
function readHeaders(request: Request): Record<string, string> {
  const headers: Record<string, string> = {};
  request.headers.forEach((value, name) => {
    if (name !== "__proto__") headers[name] = value;
    else Object.defineProperty(headers, name, { value, enumerable: true });
  });
  return headers;
}

function answer(
  request: Request,
  sender: Pick<IncomingRequest, "remote" | "headers" | "by">,
  host: SlackHost,
  ready: Readiness,
): Response | Promise<Response> {
  const malformed = findMalformed(sender.headers);
  if (malformed !== undefined) return refuseUnrecorded(malformed, host);
  const path = rawPath(request.url);
  if (path === "/healthz") return Response.json({ status: "ok" });
  if (path === "/readyz") {
    return ready()
      ? Response.json({ status: "ready" })
      : refuseUnrecorded(new AppError("overloaded", ""), host);
  }
  const endpoint = findEndpoint(path);
  if (endpoint === undefined) {
    host.unknownPaths.note({ method: request.method, path, remote: sender.remote });
    return refuseUnrecorded(new AppError("not_found", ""), host);
  }
  const incoming = { ...endpoint.names, ...sender, path };
  const { source } = endpoint;
  if (request.method === "POST") return source.receive(request, incoming, host);
  return answerOther(request, incoming, { source, host });
}

/** Answers any other method than `POST`: some platforms check an address with `GET`. */
async function answerOther(
  request: Request,
  incoming: IncomingRequest,
  { source, host }: { source: Source; host: SlackHost },
): Promise<Response> {
  const answer = await source.handshake?.(request, incoming, host);
  if (answer !== undefined) return answer;
  host.unknownPaths.note({ method: request.method, path: incoming.path, remote: incoming.remote });
  return refuseUnrecorded(new AppError("method_not_allowed", ""), host, "POST");
}

/** Answers a request without a trigger. It leaves no record, because records belong to triggers. */
function refuseUnrecorded(
  error: AppError,
  host: Pick<SlackHost, "newId">,
  allow?: string,
): Response {
  const requestId = host.newId();
  return problemResponse(error, { requestId, ...defined({ allow }) });
}

function findMalformed(headers: Readonly<Record<string, string>>): AppError | undefined {
  const { host } = headers;
  if (host !== undefined && !HOST.test(host)) return new AppError("invalid", "Bad Host");
  let bytes = 0;
  for (const key in headers) bytes += key.length + (headers[key] ?? "").length;
  return bytes > MAX_HEADER_BYTES ? new AppError("headers_too_large", "") : undefined;
}

/** The path as it was sent: up to the query, not decoded, not normalised further. */
function rawPath(url: string): string {
  const start = url.indexOf("/", url.indexOf("://") + 3);
  const end = url.indexOf("?", start);
  return url.slice(start, end === -1 ? undefined : end);
}

/** How the requests of a source are received. */
interface Source {
  readonly receive: (
    request: Request,
    incoming: IncomingRequest,
    host: SlackHost,
  ) => Promise<Response>;
  /** Answers other methods than `POST`; absent if the source answers none. */
  readonly handshake?: typeof receiveHandshake;
}

const WEBHOOK: Source = { receive: receiveWebhook, handshake: receiveHandshake };
const SLACK: Source = { receive: receiveSlackEvent };

/** The source that receives a request, and the trigger that its path names. */
interface Endpoint {
  readonly source: Source;
  readonly names: Pick<IncomingRequest, "project" | "trigger">;
}

function findEndpoint(path: string): Endpoint | undefined {
  const parts = path.split("/");
  if (parts[0] !== "") return undefined;
  if (parts[1] === "webhook") return withNames(WEBHOOK, parts.slice(2), DEFAULT_PROJECT);
  if (parts[1] !== "source" || parts[2] !== "slack") return undefined;
  return withNames(SLACK, parts.slice(3));
}

/** Splits `[project, trigger]`; `fallback` is the project of a path with a trigger only. */
function withNames(
  source: Source,
  names: readonly string[],
  fallback?: string,
): Endpoint | undefined {
  if (!names.every((name) => NAME.test(name))) return undefined;
  const [project, trigger] = names.length === 1 && fallback !== undefined
    ? [fallback, ...names]
    : names;
  if (names.length > 2 || project === undefined || trigger === undefined) return undefined;
  return { source, names: { project, trigger } };
}
