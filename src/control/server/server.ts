/**
 * The control plane's server: `POST /v1/{operation}` on the Unix socket, and `GET /metrics`. Decides
 * the caller's role, then hands over to the operation.
 *
 * @module
 */

import {
  NEEDED_ROLE,
  type OperationName,
  type Operations,
  type Role,
  type StreamName,
  type Streams,
} from "../../api/operations.ts";
import { AppError, toAppError } from "../../base/errors.ts";
import type { NewId } from "../../base/ids.ts";
import { isJsonObject, type JsonObject, parseJson } from "../../base/json.ts";
import type { Log } from "../../base/log.ts";
import { problemResponse } from "../../http/problem.ts";
import { BodyBudget } from "../../http/body_budget.ts";
import { readBody } from "../../http/read_body.ts";
import { InputChecks } from "./inputs.ts";
import { type Caller, hasRole } from "../../auth/caller.ts";

/** One handler for each operation. */
export type Handlers = {
  readonly [Name in OperationName]: (
    input: Operations[Name]["in"],
    caller: Caller,
  ) => Promise<Operations[Name]["out"]>;
};

/** One handler for each streaming operation. */
export type StreamHandlers = {
  readonly [Name in StreamName]: (
    input: Streams[Name],
    signal: AbortSignal,
    caller: Caller,
  ) => AsyncGenerator<unknown>;
};

/** What the control server needs. */
export interface ControlHost {
  /** Operations. */
  readonly handlers: Handlers;
  /** Streaming operations. */
  readonly streams: StreamHandlers;
  /** Finds out who asks; looked at for every request. */
  readonly identify: (request: Request) => Promise<Caller | undefined>;
  /** Leaves a trace of a refusal. */
  readonly traceRefusal: (operation: string, caller: Caller) => Promise<void>;
  /** The answer to `GET /metrics`. */
  readonly metrics: () => Promise<Response>;
  /** Ends streams when the daemon stops. */
  readonly signal: AbortSignal;
  /** The daemon's log. */
  readonly log: Log;
  /** Names requests. */
  readonly newId: NewId;
}

/** A manifest is text written by people; this is plenty. */
const BODY_LIMITS = { maxBytes: 64 * 1024 * 1024, deadlineMs: 30_000 };
/** Not that of the webhooks: an operator can act whatever strangers send. */
const BODIES = new BodyBudget(4 * BODY_LIMITS.maxBytes);

/** What is recorded of a request for an operation that is not there: its name is anybody's text. */
const UNKNOWN = "unknown";

/** Answers requests of the control plane. */
export function controlHandler(host: ControlHost): (request: Request) => Promise<Response> {
  const inputs = new InputChecks();
  return async (request) => {
    try {
      return await answer(request, host, inputs);
    } catch (thrown) {
      const error = toAppError(thrown);
      const requestId = host.newId();
      if (error.code === "internal") host.log.error("control request failed", { requestId, error });
      return problemResponse(error, { requestId, trusted: true });
    }
  };
}

async function answer(
  request: Request,
  host: ControlHost,
  inputs: InputChecks,
): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (pathname === "/metrics" && request.method === "GET") {
    await authorize(request, { name: "metrics", needed: "read_only" }, host);
    return await host.metrics();
  }
  const name = /^\/v1\/([a-z._]+)$/.exec(pathname)?.[1] ?? "";
  if (request.method !== "POST") throw new AppError("method_not_allowed", "Operations are POSTed");
  const needed = Object.hasOwn(NEEDED_ROLE, name) ? NEEDED_ROLE[name as OperationName] : "admin";
  const isKnown = Object.hasOwn(host.handlers, name) || Object.hasOwn(host.streams, name);
  const caller = await authorize(request, { name: isKnown ? name : UNKNOWN, needed }, host);
  const input = await readInput(request, caller);
  if (Object.hasOwn(host.handlers, name)) {
    inputs.check(name as OperationName, input);
    const handle = host.handlers[name as OperationName] as (
      input: unknown,
      caller: Caller,
    ) => Promise<unknown>;
    return Response.json(await handle(input, caller).catch(tracing(name, caller, host)));
  }
  if (Object.hasOwn(host.streams, name)) {
    inputs.check(name as StreamName, input);
    const stream = host.streams[name as StreamName] as (
      input: unknown,
      signal: AbortSignal,
      caller: Caller,
    ) => AsyncGenerator<unknown>;
    const signal = AbortSignal.any([host.signal, request.signal]);
    return await streamResponse(stream(input, signal, caller), host.log);
  }
  throw new AppError("not_found", `No operation "${name}", is the client newer than the daemon?`);
}

/** What is asked; one role cannot take the room of the others. */
async function readInput(request: Request, { role }: Caller): Promise<JsonObject> {
  const held = BODIES.hold(role);
  try {
    const input = parseJson(new TextDecoder().decode(await readBody(request, BODY_LIMITS, held)));
    if (isJsonObject(input)) return input;
    throw new AppError("invalid", "The body is not a JSON object");
  } finally {
    held.release();
  }
}

/** Who asks, if they may. */
async function authorize(
  request: Request,
  { name, needed }: { name: string; needed: Role },
  host: ControlHost,
): Promise<Caller> {
  const caller = await host.identify(request);
  if (caller === undefined) {
    throw new AppError("forbidden", "The token is not known, its run may be over");
  }
  if (hasRole(caller.role, needed)) return caller;
  await host.traceRefusal(name, caller);
  throw new AppError("forbidden", `This needs the role ${needed}, and you have ${caller.role}`);
}

/** Refusals that only the operation itself can see leave a trace too. */
function tracing(
  name: string,
  caller: Caller,
  host: ControlHost,
): (error: unknown) => Promise<never> {
  return async (error) => {
    if (error instanceof AppError && error.code === "forbidden") {
      await host.traceRefusal(name, caller);
    }
    throw error;
  };
}

/** Waits for the first line, so that a refusal still is an error status. */
async function streamResponse(lines: AsyncGenerator<unknown>, log: Log): Promise<Response> {
  const encode = (value: unknown) => new TextEncoder().encode(JSON.stringify(value) + "\n");
  let next: IteratorResult<unknown> | undefined = await lines.next();
  let gone = false; // whoever asked, maybe while a line was being waited for
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = next ?? await lines.next();
        next = undefined;
        if (gone) return;
        if (done === true) controller.close();
        else controller.enqueue(encode(value));
      } catch (error) {
        log.error("stream failed", { error });
        controller.error(error);
      }
    },
    async cancel() {
      gone = true;
      await lines.return(undefined);
    },
  });
  return new Response(body, { headers: { "content-type": "application/x-ndjson" } });
}
