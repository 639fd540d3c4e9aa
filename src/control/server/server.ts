/**
 * The control plane's server: `POST /v1/{operation}`, and `GET /metrics`. Identifies the caller,
 * checks its rights and the input, then calls the operation's handler.
 *
 * @module
 */

import { ASK_AGAIN, ASKED_HEADER, TIME_HEADER } from "../../api/fresh_request.ts";
import { type Operation, secretsIn } from "../../api/operation.ts";
import {
  type AttachedName,
  type CallName,
  findOperation,
  type Input,
  type OperationName,
  type Output,
  type StreamName,
} from "../../api/operations.ts";
import { type Access, EVERY_RUN } from "../../api/roles.ts";
import { checkCaller, checkOwn, isLimitedToOwn } from "../../auth/authorize.ts";
import type { Caller } from "../../auth/caller.ts";
import type { Core } from "../../base/core.ts";
import { AppError, toAppError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { problemResponse } from "../../http/problem.ts";
import type { KnownSecrets } from "../../secrets/known_secrets.ts";
import { type AttachedFile, type AttachmentHost, readInput } from "./input_reader.ts";
import { InputChecks } from "./inputs.ts";
import { type ResolveRecord, resolveReferences } from "./references.ts";
import { StreamBudget } from "./stream_budget.ts";
import { type RightsHost, watchRights } from "./stream_rights.ts";

/** One handler for each operation, with the types of its definition. */
export type Handlers =
  & {
    readonly [Name in Exclude<CallName, AttachedName>]: (
      input: Input<Name>,
      caller: Caller,
    ) => Promise<Output<Name>>;
  }
  & {
    readonly [Name in AttachedName]: (
      input: Input<Name>,
      caller: Caller,
      attached: AttachedFile,
    ) => Promise<Output<Name>>;
  }
  & {
    readonly [Name in StreamName]: (
      input: Input<Name>,
      caller: Caller,
      signal: AbortSignal,
    ) => AsyncGenerator<Output<Name>>;
  };

/** The handlers of the operations, and the parts that every call uses. */
export interface ControlHost extends Core, AttachmentHost, RightsHost {
  readonly handlers: Handlers;
  /** Finds the records that an input names. */
  readonly resolve: ResolveRecord;
  readonly auditRefusal: (operation: string, caller: Caller) => Promise<void>;
  /** Hides secrets in answers. */
  readonly secrets: KnownSecrets;
  /** The answer to `GET /metrics`. */
  readonly metrics: () => Promise<Response>;
  /** Ends streams when the daemon stops. */
  readonly signal: AbortSignal;
}

/**
 * Far more streams than people and programs open; each may hold one or two megabytes for a slow
 * reader.
 */
const STREAMS = new StreamBudget(64);

/**
 * A client sends the time that the daemon gave it; a change may begin until so long after that
 * time.
 */
const FRESH_MS = 15_000;

/** Access to the metrics: they are no operation, and hold no more than `svc get` shows. */
const METRICS: Access = { role: "read_only", grants: EVERY_RUN };
/** Access to an operation that does not exist: only an admin learns that it does not. */
const UNKNOWN: Access = { role: "admin", grants: {} };

/** Answers requests of the control plane. */
export function controlHandler(host: ControlHost): (request: Request) => Promise<Response> {
  const inputs = new InputChecks();
  const freshness = new Freshness(host.clock);
  return async (request) => {
    // secrets of the input are hidden until the answer is made
    using during = new DisposableStack();
    try {
      return await answer(request, host, { inputs, freshness, during });
    } catch (thrown) {
      const error = host.secrets.redactError(toAppError(thrown));
      const requestId = host.newId();
      if (error.code === "internal") host.log.error("control request failed", { requestId, error });
      return problemResponse(error, { requestId, trusted: true });
    }
  };
}

/** Recognises requests that the daemon found so late that their clients may no longer wait. */
class Freshness {
  readonly #clock: ControlHost["clock"];
  readonly #run = crypto.randomUUID();

  constructor(clock: ControlHost["clock"]) {
    this.#clock = clock;
  }

  /** The answer to a request that may have been found late; `undefined` for one to carry out. */
  findDoubt(request: Request, { changes }: Operation): Response | undefined {
    const asked = request.headers.get(ASKED_HEADER);
    // a caller that sends no time decides itself
    if (asked === null || !changes) return undefined;
    const now = this.#clock.monotonicMs();
    const [run, at] = asked.split("/");
    const agoMs = now - Number.parseFloat(at ?? "");
    if (run === this.#run && agoMs >= 0 && agoMs <= FRESH_MS) return undefined;
    return new Response(null, {
      status: ASK_AGAIN,
      headers: { [TIME_HEADER]: `${this.#run}/${now}` },
    });
  }
}

async function answer(
  request: Request,
  host: ControlHost,
  { inputs, freshness, during }: {
    readonly inputs: InputChecks;
    readonly freshness: Freshness;
    /** Disposed of at the end of the answer. */
    readonly during: DisposableStack;
  },
): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (pathname === "/metrics" && request.method === "GET") {
    return await asCaller(request, host, "metrics", (caller) => {
      checkCaller(METRICS, caller);
      return host.metrics();
    });
  }
  if (request.method !== "POST") {
    throw new AppError("method_not_allowed", "Use POST for operations");
  }
  const name = /^\/v1\/([a-z._]+)$/.exec(pathname)?.[1] ?? "";
  const operation = findOperation(name);
  // The name of an unknown operation is text of the client and is not written to the audit.
  return await asCaller(
    request,
    host,
    operation === undefined ? "unknown" : name,
    async (caller) => {
      checkCaller(operation ?? UNKNOWN, caller);
      const attachment = operation?.attachment;
      await using given = await readInput(request, { caller, attachment, host });
      const body = given.input;
      if (operation === undefined) {
        const message = `The daemon has no operation "${name}": the client may be newer`;
        throw new AppError("not_found", message);
      }
      during.use(host.secrets.runBegins(secretsIn(operation, body)));
      inputs.check(name, operation, body);
      const input = await resolveReferences(body, operation, resolverFor(operation, caller, host));
      checkOwn(input, operation, caller);
      const doubt = freshness.findDoubt(request, operation);
      if (doubt !== undefined) return doubt;
      const isStream = operation.output.form === "lines";
      if (isStream) during.use(STREAMS.begin(caller.role));
      const rights = isStream ? during.use(watchRights(request, caller, host)).signal : undefined;
      const signals = [host.signal, request.signal];
      const signal = AbortSignal.any(rights === undefined ? signals : [...signals, rights]);
      const handle = host.handlers[name as OperationName] as Handle;
      const extra = isStream ? signal : await given.attached(signal);
      const result = handle(input, caller, extra);
      if (!isStream) return Response.json(await result);
      return await streamResponse(result as AsyncGenerator<unknown>, host.log, {
        during,
        client: request.signal,
        rights,
      });
    },
  );
}

/**
 * Finds records for a caller. A caller that may only see its own records does not learn whether
 * others exist: the text by which it names one stays as it is, and is refused.
 */
function resolverFor(
  operation: Operation,
  caller: Caller,
  { resolve }: ControlHost,
): ResolveRecord {
  if (!isLimitedToOwn(operation, caller)) return resolve;
  return (record, given) => resolve(record, given).catch(() => given);
}

/** A handler without its types: the input has been checked against the schema they come from. */
type Handle = (
  input: unknown,
  caller: Caller,
  extra: AbortSignal | AttachedFile | undefined,
) => Promise<unknown> | AsyncGenerator<unknown>;

/**
 * Runs `act` for the caller of a request. A refusal, here or in the operation itself, is recorded
 * in the audit.
 *
 * @throws {AppError} `forbidden` for an unknown token, and whatever `act` throws.
 */
async function asCaller(
  request: Request,
  host: ControlHost,
  operation: string,
  act: (caller: Caller) => Promise<Response>,
): Promise<Response> {
  const caller = await host.identify(request);
  if (caller === undefined) {
    const message = "Unknown or expired token: a run token ends with its run";
    throw new AppError("forbidden", message);
  }
  try {
    return await act(caller);
  } catch (error) {
    if (error instanceof AppError && error.code === "forbidden") {
      await host.auditRefusal(operation, caller);
    }
    throw error;
  }
}

/**
 * Waits for the first line, so that a refusal still sets the status of the response. From then on
 * the stream disposes of `during` at its end, also when the client leaves before it reads.
 */
async function streamResponse(
  lines: AsyncGenerator<unknown>,
  log: Log,
  { during, client, rights }: {
    readonly during: DisposableStack;
    readonly client: AbortSignal;
    /** Aborts when the caller loses its rights: nothing is sent from then on. */
    readonly rights: AbortSignal | undefined;
  },
): Promise<Response> {
  const encode = (value: unknown) => new TextEncoder().encode(JSON.stringify(value) + "\n");
  let next: IteratorResult<unknown> | undefined = await lines.next();
  let gone = false; // whether the client has disconnected
  const begun = during.move();
  const end = () => lines.return(undefined).finally(() => begun.dispose());
  const leave = () => void end().catch((error) => log.error("stream failed", { error }));
  if (client.aborted) leave();
  else client.addEventListener("abort", leave, { once: true });
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = next ?? await lines.next();
        next = undefined;
        if (gone) return;
        rights?.throwIfAborted();
        if (done === true) {
          begun.dispose();
          controller.close();
        } else controller.enqueue(encode(value));
      } catch (error) {
        if (rights?.aborted !== true) log.error("stream failed", { error });
        else await lines.return(undefined);
        begun.dispose();
        controller.error(error);
      }
    },
    async cancel() {
      gone = true;
      await end();
    },
  });
  return new Response(body, { headers: { "content-type": "application/x-ndjson" } });
}
