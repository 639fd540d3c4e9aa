/**
 * The public HTTP server: its paths, matched raw and undecoded, and the checks that every request
 * passes. Rules of one path are in the file of its source.
 *
 * @module
 */

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

/** Answers requests of the public server. */
export function webhookHandler(
  host: SlackHost,
  ready: Readiness,
): (request: Request, remote: string) => Response | Promise<Response> {
  return (request, remote) =>
    answer(request, { remote, headers: readHeaders(request) }, host, ready);
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
  sender: Pick<IncomingRequest, "remote" | "headers">,
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
  if (request.method === "POST") return endpoint.receive(request, incoming, host);
  return answerOther(request, incoming, { endpoint, host });
}

/** Answers any other method than `POST`: some platforms check an address with `GET`. */
async function answerOther(
  request: Request,
  incoming: IncomingRequest,
  { endpoint, host }: { endpoint: Endpoint; host: SlackHost },
): Promise<Response> {
  const answer = await endpoint.handshake?.(request, incoming, host);
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

/** The source that receives a request, and the trigger that its path names. */
interface Endpoint {
  readonly receive: (
    request: Request,
    incoming: IncomingRequest,
    host: SlackHost,
  ) => Promise<Response>;
  /** Answers other methods than `POST`; absent if the source answers none. */
  readonly handshake?: typeof receiveHandshake;
  readonly names: Pick<IncomingRequest, "project" | "trigger">;
}

function findEndpoint(path: string): Endpoint | undefined {
  const [empty, first, ...rest] = path.split("/");
  if (empty !== "") return undefined;
  if (first === "webhook") {
    const endpoint = withNames(receiveWebhook, rest, DEFAULT_PROJECT);
    return endpoint && { ...endpoint, handshake: receiveHandshake };
  }
  const [platform, ...names] = rest;
  if (first !== "source" || platform !== "slack") return undefined;
  return withNames(receiveSlackEvent, names);
}

/** Splits `[project, trigger]`; `fallback` is the project of a path with a trigger only. */
function withNames(
  receive: Endpoint["receive"],
  names: readonly string[],
  fallback?: string,
): Endpoint | undefined {
  if (!names.every((name) => NAME.test(name))) return undefined;
  const [first, second] = names;
  if (first === undefined) return undefined;
  if (names.length === 1 && fallback !== undefined) {
    return { receive, names: { project: fallback, trigger: first } };
  }
  if (names.length !== 2 || second === undefined) return undefined;
  return { receive, names: { project: first, trigger: second } };
}
