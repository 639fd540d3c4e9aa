/**
 * The control plane's client: calls operations over the daemon's Unix socket.
 *
 * @module
 */

import type { DataDir } from "../base/data_dir.ts";
import { defined } from "../base/defined.ts";
import { AppError, isErrorCode, messageOf } from "../base/errors.ts";
import { findMissing } from "../base/initialised.ts";
import { isJsonObject } from "../base/json.ts";
import { ATTACHED_TYPE } from "./attached_type.ts";
import { ASK_AGAIN, ASKED_HEADER, TIME_HEADER, UNKNOWN_TIME } from "./fresh_request.ts";
import { encodePerson, PERSON_HEADER } from "./named_person.ts";
import type {
  AttachedName,
  CallName,
  Input,
  OperationName,
  Output,
  StreamName,
} from "./operations.ts";

/** A connection to a daemon, over which operations are called. */
export interface Client extends Disposable {
  /**
   * Calls one operation; gives up when `signal` aborts.
   *
   * @throws {AppError} whatever the daemon refused with; `unreachable` when it does not run.
   */
  call<Name extends Exclude<CallName, AttachedName>>(
    name: Name,
    input: Input<Name>,
    signal?: AbortSignal,
  ): Promise<Output<Name>>;
  /**
   * Calls an operation whose input comes with bytes.
   *
   * @throws {AppError} as {@linkcode Client.call}.
   */
  callWith<Name extends AttachedName>(
    name: Name,
    input: Input<Name>,
    { attachment, signal }: {
      readonly attachment: Uint8Array<ArrayBuffer>;
      readonly signal?: AbortSignal;
    },
  ): Promise<Output<Name>>;
  /**
   * Calls a streaming operation; yields its JSON lines as they arrive, until `signal` aborts.
   *
   * @throws {AppError} as {@linkcode Client.call}; `unreachable` also when the stream breaks off.
   */
  stream<Name extends StreamName>(
    name: Name,
    input: Input<Name>,
    signal?: AbortSignal,
  ): AsyncIterable<Output<Name>>;
  /**
   * Forwards a call of another program, and returns the answer of the daemon unchanged, also a
   * refusal or a stream.
   *
   * @throws {AppError} `unreachable`, or `forbidden` when the socket may not be used.
   */
  forward(call: ForwardedCall, signal: AbortSignal): Promise<Response>;
}

/** A call to forward. */
export interface ForwardedCall {
  readonly name: OperationName;
  /** Its input as JSON. */
  readonly body: string;
  /** Name of the forwarding program in the audit: `[a-z-]`, at most 32 characters. */
  readonly by: string;
  /** Name or identity of the Person for whom a gateway asks. */
  readonly person?: string;
}

/** A control socket, and its data directory, which shows why no daemon listens. */
interface SocketAddress {
  readonly socket: string;
  readonly dataDir?: DataDir;
}

/** The address at which the daemon listens, or inside the daemon, the function that answers. */
export type Address =
  | SocketAddress
  | { readonly url: string; readonly caCert?: () => string }
  | { readonly answer: (request: Request) => Promise<Response> };

type Attachment = Uint8Array<ArrayBuffer>;

/** What a client asks. */
interface Asked extends Omit<ForwardedCall, "by"> {
  readonly by?: string;
  readonly attachment?: Attachment;
}

/** How often a client repeats a request that the daemon found too late. */
const MOST_TIMES = 5;

/** A client of a daemon; `token` authenticates the caller, where the socket alone does not. */
export function connect(address: Address, token?: string): Client {
  const base = "url" in address ? address.url.replace(/\/+$/, "") : "http://svc";
  const { answer, close } = "answer" in address
    ? { answer: address.answer, close() {} }
    : overNetwork(address);

  const isAsking = !("answer" in address); // there a caller never goes unseen
  const askOnce = (
    { name, body, attachment, by, person }: Asked,
    asked: string,
    signal: AbortSignal | undefined,
  ): Promise<Response> => {
    const request = new Request(`${base}/v1/${name}`, {
      method: "POST",
      headers: {
        "content-type": attachment === undefined ? "application/json" : ATTACHED_TYPE,
        ...(isAsking ? { [ASKED_HEADER]: asked } : {}),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...defined({ "svc-client": by }),
        ...(person === undefined ? {} : { [PERSON_HEADER]: encodePerson(person) }),
      },
      // the first question, which only brings the time, does without the bytes
      body: attachment === undefined
        ? body
        : isAsking && asked === UNKNOWN_TIME
        ? `${body}\n`
        : new Blob([`${body}\n`, attachment]),
      ...defined({ signal }),
    });
    return answer(request);
  };
  const ask = async (
    call: Asked,
    signal: AbortSignal | undefined,
  ): Promise<Response> => {
    let response = await askOnce(call, UNKNOWN_TIME, signal);
    for (let times = 1; response.status === ASK_AGAIN && times < MOST_TIMES; times++) {
      await response.body?.cancel();
      response = await askOnce(call, response.headers.get(TIME_HEADER) ?? UNKNOWN_TIME, signal);
    }
    if (response.ok || isProblem(response)) return response;
    await response.body?.cancel();
    const message = response.status === 503
      ? "The daemon is stopping: try again when it runs again"
      : `Something other than the daemon answered: HTTP ${response.status}`;
    throw new AppError("unreachable", message);
  };
  const send = async (
    name: OperationName,
    input: unknown,
    { signal, attachment }: { signal?: AbortSignal | undefined; attachment?: Attachment } = {},
  ): Promise<Response> => {
    const body = JSON.stringify(input);
    const response = await ask({ name, body, ...defined({ attachment }) }, signal);
    if (response.ok) return response;
    const problem: unknown = await response.json();
    throw toError(isJsonObject(problem) ? problem : {});
  };

  return {
    async call(name, input, signal) {
      return await (await send(name, input, { signal })).json();
    },
    async callWith(name, input, sending) {
      return await (await send(name, input, sending)).json();
    },
    async *stream(name, input, signal) {
      const { body } = await send(name, input, { signal });
      type Line = Output<typeof name>;
      if (body !== null) yield* readLines(body, signal) as AsyncGenerator<Line>;
    },
    forward: ask,
    [Symbol.dispose]: close,
  };
}

/** Whether an answer is a refusal of the daemon, and not of a proxy before it. */
function isProblem({ headers }: Response): boolean {
  return headers.get("content-type")?.startsWith("application/problem+json") === true;
}

/** Sends requests over a connection. */
function overNetwork(address: Exclude<Address, { readonly answer: unknown }>) {
  const client = Deno.createHttpClient(
    "socket" in address
      ? { proxy: { transport: "unix", path: address.socket } }
      : address.caCert === undefined
      ? {}
      : { caCerts: [address.caCert()] },
  );
  return {
    async answer(request: Request): Promise<Response> {
      if ("socket" in address) await probe(address);
      return await fetch(request, { client }).catch((cause) => {
        const message = `The daemon did not answer: ${messageOf(cause)}`;
        throw new AppError("unreachable", message, { cause });
      });
    },
    close: () => client.close(),
  };
}

/** The JSON lines of a body, until it ends or `signal` aborts. */
async function* readLines(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  signal: AbortSignal | undefined,
): AsyncGenerator<unknown> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  // Aborting ends the stream by cancelling the reader. The signal of `fetch` is not enough:
  // sometimes it leaves a pending read unsettled.
  const stop = () => void reader.cancel().catch(() => {});
  signal?.addEventListener("abort", stop);
  const broken = (cause: unknown) => {
    throw new AppError("unreachable", `The connection to the daemon broke: ${messageOf(cause)}`, {
      cause,
    });
  };
  try {
    for (let rest = "";;) {
      const { done, value } = await reader.read().catch(broken);
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) yield JSON.parse(line);
    }
  } finally {
    signal?.removeEventListener("abort", stop);
    stop();
  }
}

/** Connects once to find the reason of a failure, which errors of `fetch` do not contain. */
async function probe({ socket, dataDir }: SocketAddress): Promise<void> {
  try {
    (await Deno.connect({ transport: "unix", path: socket })).close();
  } catch (cause) {
    if (cause instanceof Deno.errors.PermissionDenied) {
      throw new AppError("forbidden", `You may not use the control socket ${socket}`, { cause });
    }
    const missing = dataDir && await findMissing(dataDir);
    if (missing === undefined) {
      const message =
        `The daemon is not running on ${socket}: start it with "svc daemon", or name its data directory with --data-dir`;
      throw new AppError("unreachable", message, { cause });
    }
    const { fault, option } = missing;
    const remedy = option === undefined
      ? ""
      : `run "svc init ${option}", then "svc daemon ${option}", or `;
    const message =
      `The daemon is not running on "${dataDir?.root}", which ${fault}: ${remedy}name another data directory with --data-dir`;
    throw new AppError("unreachable", message, { cause });
  }
}

function toError(
  problem: { code?: unknown; detail?: unknown; title?: unknown; details?: unknown },
) {
  const code = isErrorCode(problem.code) ? problem.code : "internal";
  const details = Array.isArray(problem.details) ? problem.details.map(String) : [];
  return new AppError(code, String(problem.detail ?? problem.title ?? "The daemon refused"), {
    details,
  });
}
