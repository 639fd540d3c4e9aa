/**
 * The control plane's client: calls operations over the daemon's Unix socket.
 *
 * @module
 */

import { AppError, isErrorCode, messageOf } from "../base/errors.ts";
import type { OperationName, Operations, StreamName, Streams } from "./operations.ts";

/** Calls the daemon. */
export interface Client extends Disposable {
  /**
   * Calls one operation.
   *
   * @throws {AppError} whatever the daemon refused with; `unreachable` when it does not run.
   */
  call<Name extends OperationName>(
    name: Name,
    input: Operations[Name]["in"],
  ): Promise<Operations[Name]["out"]>;
  /**
   * Calls a streaming operation; gives its JSON lines as they come.
   *
   * @throws {AppError} as {@linkcode Client.call}.
   */
  stream<Name extends StreamName>(name: Name, input: Streams[Name]): AsyncIterable<unknown>;
}

/** A client of the daemon that listens on `socket`; `token` is that of the run it is called from. */
export function connect(socket: string, token?: string): Client {
  const client = Deno.createHttpClient({ proxy: { transport: "unix", path: socket } });

  const send = async (name: string, input: unknown): Promise<Response> => {
    await probe(socket);
    const response = await fetch(`http://svc/v1/${name}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify(input),
      client,
    }).catch((cause) => {
      throw new AppError("unreachable", `The daemon did not answer: ${messageOf(cause)}`, {
        cause,
      });
    });
    if (response.ok) return response;
    throw toError(await response.json().catch(() => ({})));
  };

  return {
    async call(name, input) {
      return await (await send(name, input)).json();
    },
    async *stream(name, input) {
      const { body } = await send(name, input);
      let rest = "";
      for await (const text of body?.pipeThrough(new TextDecoderStream()) ?? []) {
        const lines = (rest + text).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) yield JSON.parse(line);
      }
    },
    [Symbol.dispose]: () => client.close(),
  };
}

/** Errors of `fetch` do not say why; a bare connection does. */
async function probe(socket: string): Promise<void> {
  try {
    (await Deno.connect({ transport: "unix", path: socket })).close();
  } catch (cause) {
    if (cause instanceof Deno.errors.PermissionDenied) {
      throw new AppError("forbidden", `You may not use the control socket ${socket}`, { cause });
    }
    throw new AppError(
      "unreachable",
      `The daemon is not running on ${socket}: start it with "svc daemon", or name its data directory with --data-dir`,
      { cause },
    );
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
